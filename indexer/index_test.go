package indexer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// world makes random objects of few names, so that they meet.
type world struct {
	*rand.Rand
	imports map[string]*mcsv1beta1.ServiceImport
	slices  map[string]*discoveryv1.EndpointSlice
}

func (w *world) pick(ss ...string) string { return ss[w.IntN(len(ss))] }

func (w *world) serviceImport() *mcsv1beta1.ServiceImport {
	typ := mcsv1beta1.ServiceImportType(w.pick("Headless", "Headless", "ClusterSetIP", "ExternalName"))
	i := serviceImport(w.pick("web", "db"), w.pick("shop", "test"), typ)
	if w.IntN(3) > 0 {
		i.Spec.IPs = []string{w.pick("10.0.0.1", "10.0.0.2", "x"), w.pick("fd00::1", "10.0.0.1")}
	}
	if w.IntN(2) == 0 {
		i.Labels = map[string]string{"tier": "front"}
	}
	i.Spec.Ports = i.Spec.Ports[:w.IntN(3)]
	if w.IntN(8) == 0 {
		i.Status.EndpointSliceObjects = mcsv1beta1.EndpointSliceObjectsAbsent
	}
	return i
}

func (w *world) endpointSlice() *discoveryv1.EndpointSlice {
	var ports []discoveryv1.EndpointPort
	for range w.IntN(4) {
		p := discoveryv1.EndpointPort{Port: ptr(int32(w.IntN(3))), Protocol: ptr([]corev1.Protocol{"TCP", "UDP"}[w.IntN(2)])}
		if w.IntN(4) > 0 {
			p.Name = ptr(w.pick("http", "HTTP", "dns", "no_name"))
		}
		ports = append(ports, p)
	}
	var es []string
	v6 := w.IntN(4) == 0
	for range w.IntN(30) {
		e := w.pick("", "", "!") + w.pick("", "", "a=", "b=", "Bad_=", "pod:p-1=", "pod:p-2=")
		if v6 {
			e += fmt.Sprintf("fd00::%d,fd00::%d", w.IntN(9), w.IntN(9))
		} else {
			e += fmt.Sprintf("10.0.0.%d", w.IntN(40))
		}
		es = append(es, e)
	}
	return endpointSlice(w.pick("s1", "s2", "s3", "s4", "s5"), w.pick("web", "db"), w.pick("shop", "test"),
		w.pick("east", "west", "east.registry-1", ""), ports, es...)
}

// step does one random thing to the objects and tells the index of it.
func (w *world) step(t *testing.T, x *Index) {
	compact := func(obj any) any {
		c, err := x.Transform(obj)
		must(t, err)
		return c
	}
	switch w.IntN(10) {
	case 0, 1:
		i := w.serviceImport()
		w.imports[i.Namespace+i.Name] = i
		must(t, x.Imports().Update(compact(i)))
	case 2:
		i := w.serviceImport()
		delete(w.imports, i.Namespace+i.Name)
		must(t, x.Imports().Delete(compact(i)))
	case 3:
		s := w.endpointSlice()
		delete(w.slices, s.Namespace+s.Name)
		must(t, x.Slices().Delete(compact(s)))
	case 4:
		var all []any
		for _, s := range w.slices {
			if w.IntN(3) == 0 {
				delete(w.slices, s.Namespace+s.Name)
			} else {
				all = append(all, compact(s))
			}
		}
		must(t, x.Slices().Replace(all, ""))
	case 5:
		var all []any
		for _, i := range w.imports {
			all = append(all, compact(i))
		}
		must(t, x.Imports().Replace(all, ""))
	default:
		s := w.endpointSlice()
		if old := w.slices[s.Namespace+s.Name]; old != nil && w.IntN(2) == 0 { // a small change of what is there
			s = old.DeepCopy()
			if n := len(s.Endpoints); n > 0 {
				s.Endpoints[w.IntN(n)].Conditions.Ready = ptr(w.IntN(2) == 0)
				w.Shuffle(n, func(i, j int) { s.Endpoints[i], s.Endpoints[j] = s.Endpoints[j], s.Endpoints[i] })
			}
		}
		w.slices[s.Namespace+s.Name] = s
		must(t, x.Slices().Update(compact(s)))
	}
}

func (w *world) objects() (objs []any) {
	for _, i := range w.imports {
		objs = append(objs, i)
	}
	for _, s := range w.slices {
		objs = append(objs, s)
	}
	return objs
}

func TestAnyEventsLeaveWhatReadingEverythingWouldGive(t *testing.T) {
	selector, err := labels.Parse("tier=front")
	must(t, err)
	filters := []Filter{{}, {PodNames: true}, {IgnoreEmpty: true}, {NoEndpoints: true}, {Labels: selector}, {Namespaces: []string{"shop"}}}
	for seed := range uint64(20) {
		w := &world{rand.New(rand.NewPCG(7, seed)), map[string]*mcsv1beta1.ServiceImport{}, map[string]*discoveryv1.EndpointSlice{}}
		x := filled(t, both)
		var ls []*Lens
		for _, f := range filters {
			ls = append(ls, lensOf(t, x, f))
		}
		for step := range 150 {
			before := x.Snapshot()
			dumped := dump(before, ls[0])
			w.step(t, x)
			fresh := filled(t, both, w.objects()...)
			for i, f := range filters {
				l := lensOf(t, fresh, f)
				got, want := dump(x.Snapshot(), ls[i]), dump(fresh.Snapshot(), l)
				if got != want {
					t.Fatalf("seed %d, step %d, filter %+v:\n%s", seed, step, f, difference(got, want))
				}
			}
			if again := dump(before, ls[0]); again != dumped {
				t.Fatalf("seed %d, step %d: a snapshot changed:\n%s", seed, step, difference(again, dumped))
			}
			if a, b := x.Stats(), fresh.Stats(); fmt.Sprint(a.Imports, a.Endpoints, a.LeftOut) != fmt.Sprint(b.Imports, b.Endpoints, b.LeftOut) {
				t.Fatalf("seed %d, step %d: stats %+v, want %+v", seed, step, a, b)
			}
		}
	}
}

func difference(got, want string) string {
	var b strings.Builder
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for _, d := range []struct {
		sign string
		a, b []string
	}{{"- ", w, g}, {"+ ", g, w}} {
		for _, line := range d.a {
			if !contains(d.b, line) {
				b.WriteString(d.sign + line + "\n")
			}
		}
	}
	return b.String()
}

func contains(lines []string, line string) bool {
	for _, l := range lines {
		if l == line {
			return true
		}
	}
	return false
}
