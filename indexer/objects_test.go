package indexer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

var both = Options{NameLength: 231, Hostnames: true, PodNames: true, Labels: true, Slices: true}

func ptr[T any](v T) *T { return &v }

func serviceImport(name, ns string, typ mcsv1beta1.ServiceImportType, ips ...string) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: typ, IPs: ips, Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}, {Name: "dns", Protocol: "UDP", Port: 53}},
		},
	}
}

// endpoints of "hostname=address[,address]", "!" before it: not ready.
func endpointSlice(name, service, ns, cluster string, ports []discoveryv1.EndpointPort, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns, Labels: map[string]string{
			mcsv1beta1.LabelServiceName: service, mcsv1beta1.LabelSourceCluster: cluster,
		}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: ports,
	}
	for _, text := range endpoints {
		e := discoveryv1.Endpoint{}
		if rest, down := strings.CutPrefix(text, "!"); down {
			e.Conditions.Ready, text = ptr(false), rest
		}
		host, addrs, named := strings.Cut(text, "=")
		if !named {
			host, addrs = "", text
		}
		if pod, is := strings.CutPrefix(host, "pod:"); is {
			e.TargetRef, host = &corev1.ObjectReference{Kind: "Pod", Name: pod}, ""
		}
		if host != "" {
			e.Hostname = &host
		}
		e.Addresses = strings.Split(addrs, ",")
		if strings.Contains(addrs, ":") {
			s.AddressType = discoveryv1.AddressTypeIPv6
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func httpPort(number int32) []discoveryv1.EndpointPort {
	return []discoveryv1.EndpointPort{{Name: ptr("http"), Port: &number}}
}

// filled returns a synced index of the objects.
func filled(t testing.TB, o Options, objs ...any) *Index {
	t.Helper()
	x := New(o)
	var imports, epslices, spaces []any
	for _, obj := range objs {
		c, err := x.Transform(obj)
		if err != nil {
			t.Fatal(err)
		}
		switch c.(type) {
		case *Import:
			imports = append(imports, c)
		case *Slice:
			epslices = append(epslices, c)
		default:
			spaces = append(spaces, c)
		}
	}
	must(t, x.Imports().Replace(imports, ""))
	must(t, x.Slices().Replace(epslices, ""))
	must(t, x.Namespaces().Replace(spaces, ""))
	return x
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func lensOf(t testing.TB, x *Index, f Filter) *Lens {
	t.Helper()
	l, err := x.Lens(f)
	must(t, err)
	return l
}

// dump writes all that a lens shows of a snapshot, one line for each thing
// that can be asked, in order.
func dump(s *Snapshot, l *Lens) string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("any %v", s.Any(l))
	for svc := range s.Services(l) {
		key := svc.Key()
		if s.Service(l, key) != svc || !s.Namespace(l, svc.namespace()) {
			add("%s: is walked but not found", key)
		}
		if svc.Kind() == ClusterSetIP {
			add("%s %v %v", key, svc.IPs(), svc.Ports())
			continue
		}
		r := svc.Roster(l)
		for _, marks := range []uint8{MarkIPv4, MarkIPv6} {
			var addrs []string
			var w Walk
			r.WalkAddresses(&w, 0, marks)
			for e := w.Next(); e != nil; e = w.Next() {
				addrs = append(addrs, e.Addr().String())
			}
			slices.Sort(addrs)
			add("%s %d addresses %v", key, r.Addresses(marks), addrs)
		}
		var w Walk
		r.WalkHosts(&w, 0)
		for e := w.Next(); e != nil; e = w.Next() {
			host := string(e.AppendHost(nil))
			label, _, _ := strings.Cut(host, ".")
			var addrs []string
			var hw HostWalk
			r.WalkHost(&hw, label, e.Cluster(), 0, MarkIPv4|MarkIPv6)
			for e := hw.Next(); e != nil; e = hw.Next() {
				addrs = append(addrs, e.Addr().String())
			}
			slices.Sort(addrs)
			add("%s host %s %v above %v", key, host, addrs, r.Above(e.Cluster()))
		}
		lines = append(lines, dumpSRV(key, r.SRV(nil))...)
		for p := range r.PortSets {
			name, protocol := p.Name()
			if r.Port(name, protocol) != p || name != "" && !r.Protocol(protocol) {
				add("%s: port %s %s is walked but not found", key, name, protocol)
			}
			lines = append(lines, dumpSRV(key+" port "+name+" "+protocol, r.SRV(p))...)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func dumpSRV(what string, set SRV) []string {
	lines := []string{fmt.Sprintf("%s SRV %d", what, set.Records())}
	var w Walk
	set.Walk(&w, 0)
	for e := w.Next(); e != nil; e = w.Next() {
		ns := set.Numbers(e, nil)
		slices.Sort(ns)
		for _, n := range ns {
			lines = append(lines, fmt.Sprintf("%s SRV %d %s", what, n, e.AppendHost(nil)))
		}
	}
	if len(lines)-1 != set.Records() {
		lines = append(lines, what+" SRV: the count is wrong")
	}
	return lines
}
