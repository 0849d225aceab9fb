package multicluster

import (
	"context"
	"fmt"
	"net"
	"testing"

	"clusterset.local/multicluster/indexer"

	plugintest "github.com/coredns/coredns/plugin/test"

	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// over returns a plugin that serves the objects, as after a first read.
func over(t testing.TB, objs ...any) *Multicluster {
	t.Helper()
	m := &Multicluster{Next: plugintest.NextHandler(dns.RcodeRefused, nil), stanza: stanza{ttl: defaultTTL}, zones: []zone{newZone(defaultZone)}}
	m.index = indexer.New(indexer.Options{NameLength: m.zones[0].nameLength(), Hostnames: true, Slices: true})
	var err error
	if m.lens, err = m.index.Lens(m.filter); err != nil {
		t.Fatal(err)
	}
	var imports, slices []any
	for _, obj := range objs {
		c, err := m.index.Transform(obj)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := obj.(*mcsv1beta1.ServiceImport); ok {
			imports = append(imports, c)
		} else {
			slices = append(slices, c)
		}
	}
	if err := m.index.Imports().Replace(imports, ""); err != nil {
		t.Fatal(err)
	}
	if err := m.index.Slices().Replace(slices, ""); err != nil {
		t.Fatal(err)
	}
	return m
}

func ptr[T any](v T) *T { return &v }

func anImport(name string, typ mcsv1beta1.ServiceImportType, ips ...string) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop"},
		Spec:       mcsv1beta1.ServiceImportSpec{Type: typ, IPs: ips, Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}}},
	}
}

// endpoints returns slices of at most 100 that have n endpoints in all.
func endpoints(service string, n int) (objs []any) {
	for from := 0; from < n; from += 100 {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", service, from), Namespace: "shop", Labels: map[string]string{
				mcsv1beta1.LabelServiceName: service, mcsv1beta1.LabelSourceCluster: "east",
			}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr("http"), Port: ptr(int32(8080))}},
		}
		for i := from; i < min(n, from+100); i++ {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255)}})
		}
		objs = append(objs, s)
	}
	return objs
}

// discard is a client that reads nothing.
type discard struct {
	plugintest.ResponseWriter
	msg *dns.Msg
}

var clientAddr, serverAddr = &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 40212}, &net.UDPAddr{IP: net.IPv4(192, 0, 2, 53), Port: 53}

func (d *discard) WriteMsg(m *dns.Msg) error { d.msg = m; return nil }
func (d *discard) RemoteAddr() net.Addr      { return clientAddr }
func (d *discard) LocalAddr() net.Addr       { return serverAddr }

func large(t testing.TB) *Multicluster {
	objs := []any{anImport("web", mcsv1beta1.ClusterSetIP, "10.96.0.1")}
	for _, n := range []int{10, 100, 5000} {
		name := fmt.Sprintf("h%d", n)
		objs = append(objs, anImport(name, mcsv1beta1.Headless))
		objs = append(objs, endpoints(name, n)...)
	}
	return over(t, objs...)
}

var budgets = []struct {
	name, qname string
	qtype       uint16
	rcode       int
	records     int
	allocs      float64
}{
	{"clusterset IP", "web.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, 1, 4},
	{"one hostname of 5000", "10-1-8-1.east.h5000.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, 1, 4},
	{"no such name", "none.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError, 0, 4},
	{"no such hostname of 5000", "x.east.h5000.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError, 0, 4},
	{"10 endpoints", "h10.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, 10, 6},
	{"100 endpoints", "h100.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, 73, 6},
	{"5000 endpoints", "h5000.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, 73, 6},
	{"SRV of 10", "_http._tcp.h10.shop.svc.clusterset.local.", dns.TypeSRV, dns.RcodeSuccess, 10, 6},
	{"SRV of 5000", "_http._tcp.h5000.shop.svc.clusterset.local.", dns.TypeSRV, dns.RcodeSuccess, 17, 6},
}

// The budget of an answer is set by what is on the heap for it: 4 pieces for
// one record, 6 for as many as a UDP reply holds. More means that something is
// made once for each record, or that a look-up splits or copies the name.
func TestAnswersStayWithinTheirAllocations(t *testing.T) {
	m := large(t)
	for _, b := range budgets {
		t.Run(b.name, func(t *testing.T) {
			w := &discard{}
			r := new(dns.Msg).SetQuestion(b.qname, b.qtype)
			r.SetEdns0(1232, false)
			got := testing.AllocsPerRun(100, func() {
				if _, err := m.ServeDNS(context.Background(), w, r); err != nil {
					t.Fatal(err)
				}
			})
			if w.msg.Rcode != b.rcode || len(w.msg.Answer) != b.records {
				t.Errorf("rcode %s with %d records, want %s with %d", dns.RcodeToString[w.msg.Rcode], len(w.msg.Answer), dns.RcodeToString[b.rcode], b.records)
			}
			if got > b.allocs {
				t.Errorf("%v allocations, the budget is %v", got, b.allocs)
			}
		})
	}
}

func BenchmarkServeDNS(b *testing.B) {
	m := large(b)
	for _, q := range budgets {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			w := &discard{}
			r := new(dns.Msg).SetQuestion(q.qname, q.qtype)
			r.SetEdns0(1232, false)
			for b.Loop() {
				m.ServeDNS(context.Background(), w, r)
			}
		})
	}
}
