package multicluster

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"clusterset.local/multicluster/indexer"

	"github.com/coredns/coredns/plugin/metadata"
	plugintest "github.com/coredns/coredns/plugin/test"
	"github.com/coredns/coredns/plugin/transfer"
	"github.com/coredns/coredns/request"

	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// client is where a question comes from and where the server took it.
type client struct {
	discard
	remote, local net.Addr
}

func (c *client) RemoteAddr() net.Addr { return c.remote }
func (c *client) LocalAddr() net.Addr  { return c.local }

func udp(ip string) net.Addr { return &net.UDPAddr{IP: net.ParseIP(ip), Port: 4000} }
func tcp(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 4000} }

// ask asks as one client; size is that of EDNS, 0 without.
func ask(t testing.TB, m *Multicluster, c *client, name string, qtype uint16, size uint16) *dns.Msg {
	t.Helper()
	r := new(dns.Msg).SetQuestion(name, qtype)
	if size > 0 {
		r.SetEdns0(size, false)
	}
	c.msg = nil
	if rcode, err := m.ServeDNS(context.Background(), c, r); err != nil || c.msg == nil {
		t.Fatalf("%s: rcode %s, error %v, no reply", name, dns.RcodeToString[rcode], err)
	}
	return c.msg
}

func from(remote net.Addr) *client { return &client{remote: remote, local: udp("192.0.2.53")} }

func TestQuestionsThatAreNotForThePluginPassIt(t *testing.T) {
	m := over(t, anImport("web", mcsv1beta1.ClusterSetIP, "10.96.0.1"))
	m.Next = plugintest.NextHandler(dns.RcodeBadVers, nil)
	for _, name := range []string{"example.org.", "local.", ".", "xclusterset.local."} {
		rcode, err := m.ServeDNS(context.Background(), from(udp("192.0.2.1")), new(dns.Msg).SetQuestion(name, dns.TypeA))
		if rcode != dns.RcodeBadVers || err != nil {
			t.Errorf("%s: got %s, %v, want that of the next plugin", name, dns.RcodeToString[rcode], err)
		}
	}
}

func TestUnknownIsNotEmpty(t *testing.T) {
	m := over(t)
	m.index = indexer.New(indexer.Options{NameLength: 231, Hostnames: true, Slices: true})
	m.Fall.SetZonesFromArgs(nil)
	for _, kinds := range []string{"neither kind", "imports alone", "slices alone"} {
		if m.Ready() {
			t.Errorf("ready after %s", kinds)
		}
		for _, name := range []string{"clusterset.local.", "web.shop.svc.clusterset.local.", "dns-version.clusterset.local."} {
			rcode, err := m.ServeDNS(context.Background(), from(udp("192.0.2.1")), new(dns.Msg).SetQuestion(name, dns.TypeA))
			if rcode != dns.RcodeServerFailure || err != nil {
				t.Errorf("%s, after %s: got %s, %v, want SERVFAIL before any fallthrough", name, kinds, dns.RcodeToString[rcode], err)
			}
		}
		if _, err := m.Transfer("clusterset.local.", 0); err == nil {
			t.Errorf("a transfer after %s", kinds)
		}
		m.index = indexer.New(indexer.Options{NameLength: 231, Hostnames: true, Slices: true})
		store := m.index.Imports()
		if kinds == "imports alone" {
			store = m.index.Slices()
		}
		if err := store.Replace(nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.index.Imports().Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if err := m.index.Slices().Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	if !m.Ready() {
		t.Error("not ready after both kinds were read")
	}
}

func TestFallthroughIsForNamesThatDoNotExist(t *testing.T) {
	m := over(t, anImport("web", mcsv1beta1.ClusterSetIP, "10.96.0.1"))
	m.Next = plugintest.NextHandler(dns.RcodeBadVers, nil)
	m.Fall.SetZonesFromArgs([]string{"shop.svc.clusterset.local"})
	for name, passes := range map[string]bool{
		"none.shop.svc.clusterset.local.":  true,
		"none.other.svc.clusterset.local.": false,
		"web.shop.svc.clusterset.local.":   false,
		"shop.svc.clusterset.local.":       false, // NODATA
	} {
		rcode, _ := m.ServeDNS(context.Background(), from(udp("192.0.2.1")), new(dns.Msg).SetQuestion(name, dns.TypeAAAA))
		if (rcode == dns.RcodeBadVers) != passes {
			t.Errorf("%s: falls through: %v, want %v", name, !passes, passes)
		}
	}
}

func TestWhatIsNoQueryIsNotAnsweredAsOne(t *testing.T) {
	m := over(t, anImport("web", mcsv1beta1.ClusterSetIP, "10.96.0.1"))
	question := func(change func(*dns.Msg)) *dns.Msg {
		r := new(dns.Msg).SetQuestion("web.shop.svc.clusterset.local.", dns.TypeA)
		change(r)
		return r
	}
	for name, tt := range map[string]struct {
		r     *dns.Msg
		rcode int
	}{
		"AXFR":          {question(func(r *dns.Msg) { r.Question[0].Qtype = dns.TypeAXFR }), dns.RcodeRefused},
		"IXFR":          {question(func(r *dns.Msg) { r.Question[0].Qtype = dns.TypeIXFR }), dns.RcodeRefused},
		"class CHAOS":   {question(func(r *dns.Msg) { r.Question[0].Qclass = dns.ClassCHAOS }), dns.RcodeRefused},
		"NOTIFY":        {question(func(r *dns.Msg) { r.Opcode = dns.OpcodeNotify }), dns.RcodeNotImplemented},
		"UPDATE":        {question(func(r *dns.Msg) { r.Opcode = dns.OpcodeUpdate }), dns.RcodeNotImplemented},
		"no question":   {question(func(r *dns.Msg) { r.Question = nil }), dns.RcodeFormatError},
		"two questions": {question(func(r *dns.Msg) { r.Question = append(r.Question, r.Question[0]) }), dns.RcodeFormatError},
	} {
		c := from(udp("192.0.2.1"))
		if rcode, err := m.ServeDNS(context.Background(), c, tt.r); rcode != tt.rcode || err != nil || c.msg != nil {
			t.Errorf("%s: got %s, %v, reply %v, want %s", name, dns.RcodeToString[rcode], err, c.msg, dns.RcodeToString[tt.rcode])
		}
	}
}

func TestTheRequestIsNotChanged(t *testing.T) {
	m := over(t, anImport("web", mcsv1beta1.ClusterSetIP, "10.96.0.1"))
	r := new(dns.Msg).SetQuestion("WEB.shop.svc.Clusterset.local.", dns.TypeSRV)
	r.SetEdns0(1232, true)
	before := r.Copy()
	if _, err := m.ServeDNS(context.Background(), from(udp("192.0.2.1")), r); err != nil {
		t.Fatal(err)
	}
	if r.String() != before.String() {
		t.Errorf("the request became\n%s\nfrom\n%s", r, before)
	}
}

func TestTheServersOwnAddress(t *testing.T) {
	m := over(t)
	m.addrs = boundAddrs([]string{"192.0.2.99", "2001:db8::99"})
	for _, tt := range []struct {
		name  string
		local net.Addr
		qtype uint16
		want  string
	}{
		{"taken at an IPv4 address", udp("192.0.2.53"), dns.TypeA, "192.0.2.53"},
		{"taken at an IPv4 address, for AAAA", udp("192.0.2.53"), dns.TypeAAAA, ""},
		{"taken at an IPv6 address", tcp("2001:db8::53"), dns.TypeAAAA, "2001:db8::53"},
		{"taken at every address", udp("::"), dns.TypeA, "192.0.2.99"},
		{"taken at every address, for AAAA", udp("0.0.0.0"), dns.TypeAAAA, "2001:db8::99"},
	} {
		c := &client{remote: udp("192.0.2.1"), local: tt.local}
		msg := ask(t, m, c, "NS.dns.clusterset.local.", tt.qtype, 0)
		got := ""
		if len(msg.Answer) > 0 {
			f := strings.Fields(msg.Answer[0].String())
			got = f[len(f)-1]
		}
		if got != tt.want || msg.Rcode != dns.RcodeSuccess {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if addrs := boundAddrs(nil); slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.IsLoopback() || a.IsUnspecified() }) {
		t.Errorf("without bind, the server's addresses are %v", addrs)
	}
}

// answered returns the last field of each record of a type.
func answered(rrs []dns.RR, rrtype uint16) (out []string) {
	for _, rr := range rrs {
		if rr.Header().Rrtype == rrtype {
			f := strings.Fields(rr.String())
			out = append(out, f[len(f)-1])
		}
	}
	return out
}

// stateful returns slices of n endpoints with hostnames and both families.
func stateful(service string, n int) (objs []any) {
	for from := 0; from < n; from += 100 {
		for _, v6 := range []bool{false, true} {
			s := endpoints(service, 1)[0].(*discoveryv1.EndpointSlice)
			s.Name, s.Endpoints = fmt.Sprintf("%s-%d-%v", service, from, v6), nil
			for i := from; i < min(n, from+100); i++ {
				e := discoveryv1.Endpoint{Hostname: ptr(fmt.Sprintf("pod-%d", i)), Addresses: []string{fmt.Sprintf("10.0.%d.%d", i>>8, i&255)}}
				if v6 {
					s.AddressType = discoveryv1.AddressTypeIPv6
					e.Addresses = []string{fmt.Sprintf("fd00::%x:%x", i>>8+1, i&255)}
				}
				s.Endpoints = append(s.Endpoints, e)
			}
			objs = append(objs, s)
		}
	}
	return objs
}

func TestOneClientGetsTheSameEndpointsForAAsForAAAA(t *testing.T) {
	m := over(t, append(stateful("db", 500), anImport("db", mcsv1beta1.Headless))...)
	for i := range 20 {
		c := from(udp(fmt.Sprintf("192.0.2.%d", i)))
		as := answered(ask(t, m, c, "db.shop.svc.clusterset.local.", dns.TypeA, 1232).Answer, dns.TypeA)
		aaaas := answered(ask(t, m, c, "db.shop.svc.clusterset.local.", dns.TypeAAAA, 1232).Answer, dns.TypeAAAA)
		if len(aaaas) < 40 || len(as) <= len(aaaas) {
			t.Fatalf("%d A, %d AAAA", len(as), len(aaaas))
		}
		for j, aaaa := range aaaas {
			var hi, lo, x, y int
			fmt.Sscanf(aaaa, "fd00::%x:%x", &hi, &lo)
			fmt.Sscanf(as[j], "10.0.%d.%d", &x, &y)
			if hi-1 != x || lo != y {
				t.Fatalf("client %d, record %d: %s, but %s", i, j, as[j], aaaa)
			}
		}
	}
}

func TestEveryEndpointIsReachedBySomeClient(t *testing.T) {
	m := over(t, append(endpoints("web", 1000), anImport("web", mcsv1beta1.Headless))...)
	reached := make(map[string]int)
	const clients = 2000
	for i := range clients {
		c := from(udp(fmt.Sprintf("10.9.%d.%d", i>>8, i&255)))
		msg := ask(t, m, c, "web.shop.svc.clusterset.local.", dns.TypeA, 1232)
		if !msg.Truncated {
			t.Fatal("a part of the endpoints without TC")
		}
		for _, a := range answered(msg.Answer, dns.TypeA) {
			reached[a]++
		}
	}
	if len(reached) != 1000 {
		t.Errorf("%d of 1000 endpoints are reached", len(reached))
	}
	for a, n := range reached {
		if mean := clients * 73 / 1000; n < mean/3 || n > mean*3 {
			t.Errorf("%s is given to %d clients, the mean is %d", a, n, mean)
		}
	}
}

func TestManyAddressesOfOneHostname(t *testing.T) {
	objs := endpoints("web", 1000)
	for _, o := range objs {
		for i := range o.(*discoveryv1.EndpointSlice).Endpoints {
			o.(*discoveryv1.EndpointSlice).Endpoints[i].Hostname = ptr("same")
		}
	}
	m := over(t, append(objs, anImport("web", mcsv1beta1.Headless))...)
	reached := make(map[string]bool)
	for i := range 200 {
		msg := ask(t, m, from(udp(fmt.Sprintf("10.9.0.%d", i))), "same.east.web.shop.svc.clusterset.local.", dns.TypeA, 1232)
		as := answered(msg.Answer, dns.TypeA)
		if !msg.Truncated || len(as) != 72 {
			t.Fatalf("%d records, TC %v", len(as), msg.Truncated)
		}
		for _, a := range as {
			reached[a] = true
		}
	}
	if len(reached) != 1000 {
		t.Errorf("%d of 1000 addresses are reached", len(reached))
	}
	srv := ask(t, m, from(udp("10.9.0.1")), "web.shop.svc.clusterset.local.", dns.TypeSRV, 1232)
	if len(srv.Answer) != 1 || srv.Truncated || len(srv.Extra) < 60 {
		t.Errorf("SRV: %d records, %d addresses, TC %v; want one, and as many addresses as fit", len(srv.Answer), len(srv.Extra), srv.Truncated)
	}
}

func TestAStreamHoldsWhatFitsWithoutTC(t *testing.T) {
	m := over(t, append(endpoints("web", 5000), anImport("web", mcsv1beta1.Headless))...)
	msg := ask(t, m, &client{remote: tcp("192.0.2.1"), local: tcp("192.0.2.53")}, "web.shop.svc.clusterset.local.", dns.TypeA, 0)
	if len(msg.Answer) != (65535-12-31-4)/16 || msg.Truncated {
		t.Errorf("%d records, TC %v", len(msg.Answer), msg.Truncated)
	}
	msg.Compress = true
	if packed, err := msg.Pack(); err != nil || len(packed) > dns.MaxMsgSize || len(packed) < dns.MaxMsgSize-16 {
		t.Errorf("the reply packs to %d octets, %v", len(packed), err)
	}
}

func TestTransferIsOneStateAndEndsWithItsSOA(t *testing.T) {
	m := over(t, append(stateful("db", 300), anImport("db", mcsv1beta1.Headless))...)
	ch, err := m.Transfer("clusterset.local.", 0)
	if err != nil {
		t.Fatal(err)
	}
	first := <-ch
	for _, o := range stateful("db", 300) { // all of it goes while the transfer is on its way
		c, _ := m.index.Transform(o)
		if err := m.index.Slices().Delete(c); err != nil {
			t.Fatal(err)
		}
	}
	counts := make(map[uint16]int)
	last := first
	for rrs := range ch {
		for _, rr := range rrs {
			counts[rr.Header().Rrtype]++
		}
		last = rrs
	}
	if first[0].String() != last[0].String() || first[0].Header().Rrtype != dns.TypeSOA {
		t.Errorf("begins with %s, ends with %s", first[0], last[0])
	}
	if counts[dns.TypeA] < 600 || counts[dns.TypeAAAA] < 600 || counts[dns.TypeSRV] != 600 {
		t.Errorf("records by type: %v", counts)
	}
	serial := first[0].(*dns.SOA).Serial
	if now := m.index.Snapshot().Serial(); int32(now-serial) <= 0 {
		t.Errorf("serial %d after the change, %d before", now, serial)
	}
	for _, tt := range []struct {
		serial uint32
		full   bool
	}{{m.index.Snapshot().Serial(), false}, {m.index.Snapshot().Serial() + 1, false}, {serial, true}} {
		ch, _ := m.Transfer("clusterset.local.", tt.serial)
		n := 0
		for range ch {
			n++
		}
		if (n > 1) != tt.full {
			t.Errorf("IXFR from serial %d: %d messages, in full: want %v", tt.serial, n, tt.full)
		}
	}
	for _, z := range []string{"local.", "svc.clusterset.local.", "example.org."} {
		if _, err := m.Transfer(z, 0); err != transfer.ErrNotAuthoritative {
			t.Errorf("%s: %v", z, err)
		}
	}
}

func TestMetadataTellsWhatANameNames(t *testing.T) {
	objs := append(stateful("db", 2), anImport("db", mcsv1beta1.Headless), anImport("web", mcsv1beta1.ClusterSetIP, "10.96.0.1"))
	objs[0].(*discoveryv1.EndpointSlice).Labels[mcsv1beta1.LabelSourceCluster] = "east.reg-1"
	m := over(t, objs...)
	keys := []string{"service", "namespace", "cluster", "endpoint", "port-name", "protocol", "kind"}
	for name, want := range map[string]string{
		"web.shop.svc.clusterset.local.":                 "web shop     svc",
		"_http._tcp.Web.shop.svc.clusterset.local.":      "web shop   http tcp svc",
		"pod-0.east.reg-1.db.shop.svc.clusterset.local.": "db shop east.reg-1 pod-0   svc",
		"east.reg-1.db.shop.svc.clusterset.local.":       "db shop east.reg-1    svc",
		"none.nowhere.db.shop.svc.clusterset.local.":     "db shop nowhere none   svc",
		"shop.svc.clusterset.local.":                     " shop     svc",
		"clusterset.local.":                              "      ",
		"web.shop.svc.example.org.":                      "      ",
	} {
		ctx := metadata.ContextWithMetadata(context.Background())
		ctx = m.Metadata(ctx, request.Request{Req: new(dns.Msg).SetQuestion(name, dns.TypeA), W: from(udp("192.0.2.1"))})
		var got []string
		for _, k := range keys {
			v := ""
			if f := metadata.ValueFunc(ctx, "multicluster/"+k); f != nil {
				v = f()
			}
			got = append(got, v)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: got %q, want %q", name, s, want)
		}
	}
}
