package indexer

import (
	"fmt"
	"runtime"
	"testing"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// heapOf returns the heap that what make returns holds on to, in octets.
func heapOf(make func() any) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := make()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return after.HeapAlloc - before.HeapAlloc
}

// fill puts services of so many endpoints each, in slices of so many, IPv4,
// without hostname, into a synced index, one object at a time in its compact
// form, as a reflector does.
func fill(t testing.TB, typ mcsv1beta1.ServiceImportType, services, each, perSlice int) *Index {
	x := New(Options{NameLength: 231, Hostnames: true, Slices: true})
	lensOf(t, x, Filter{})
	var imports, epslices []any
	add := func(to *[]any, obj any) {
		c, err := x.Transform(obj)
		must(t, err)
		*to = append(*to, c)
	}
	for s := range services {
		name := fmt.Sprintf("service-%d", s)
		i := serviceImport(name, fmt.Sprintf("namespace-%d", s%100), typ, fmt.Sprintf("10.96.%d.%d", s>>8&255, s&255))
		i.Spec.Ports = i.Spec.Ports[:1]
		add(&imports, i)
		for from := 0; from < each; from += perSlice {
			var es []string
			for e := from; e < min(each, from+perSlice); e++ {
				n := s*each + e
				es = append(es, fmt.Sprintf("10.%d.%d.%d", 1+n>>16, n>>8&255, n&255))
			}
			add(&epslices, endpointSlice(fmt.Sprintf("imported-%s-%d-abcdefghij", name, from), name, i.Namespace, "cluster-1", httpPort(8080), es...))
		}
	}
	must(t, x.Imports().Replace(imports, ""))
	must(t, x.Slices().Replace(epslices, ""))
	return x
}

// The budgets of memory, in octets of live heap. They are what a clusterset of
// 100 000 services and 1 000 000 endpoints is sized by (docs/operate.md): when
// one trips, find what has come to be held, or raise it here and there.
func TestHeapStaysWithinItsBudget(t *testing.T) {
	if raceEnabled {
		t.Log("the race detector changes what objects weigh: the budgets hold without it")
		return
	}
	for _, tt := range []struct {
		name                     string
		typ                      mcsv1beta1.ServiceImportType
		services, each, perSlice int
		per                      int // what the budget is for: endpoints, or 1 import
		budget                   float64
	}{
		{"endpoint, 100 in a slice", mcsv1beta1.Headless, 20, 5000, 100, 5000, 100},
		{"endpoint, 20 in a slice", mcsv1beta1.Headless, 20, 5000, 20, 5000, 130},
		{"endpoint behind a ClusterSetIP import", mcsv1beta1.ClusterSetIP, 20, 5000, 100, 5000, 40},
		{"ClusterSetIP import", mcsv1beta1.ClusterSetIP, 20000, 0, 1, 1, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heap := heapOf(func() any { return fill(t, tt.typ, tt.services, tt.each, tt.perSlice) })
			got := float64(heap) / float64(tt.services*tt.per)
			t.Logf("%.0f octets", got)
			if got > tt.budget {
				t.Errorf("%.0f octets of heap, the budget is %.0f", got, tt.budget)
			}
		})
	}
}
