package multicluster

import (
	"strings"
	"testing"

	"github.com/miekg/dns"
)

func TestWhatANameNames(t *testing.T) {
	web := question{service: "web.shop", namespace: "shop"}
	of := func(k kind, q question) question { q.kind = k; return q }
	for name, want := range map[string]question{
		"":                             {kind: apex},
		"dns":                          {kind: dnsName},
		"ns.dns":                       {kind: nsName},
		"dns-version":                  {kind: version},
		"svc":                          {kind: svcName},
		"shop.svc":                     {kind: namespace, namespace: "shop"},
		"web.shop.svc":                 of(service, web),
		"_tcp.web.shop.svc":            {kind: protocol, service: "web.shop", namespace: "shop", protocol: "tcp", below: "_tcp"},
		"_http._tcp.web.shop.svc":      {kind: port, service: "web.shop", namespace: "shop", port: "http", protocol: "tcp", below: "_http._tcp"},
		"east.web.shop.svc":            {kind: endpoint, service: "web.shop", namespace: "shop", label: "east", below: "east"},
		"db-0.east.web.shop.svc":       {kind: endpoint, service: "web.shop", namespace: "shop", label: "db-0", cluster: "east", below: "db-0.east"},
		"db-0.east.reg-1.web.shop.svc": {kind: endpoint, service: "web.shop", namespace: "shop", label: "db-0", cluster: "east.reg-1", below: "db-0.east.reg-1"},
		"http._tcp.web.shop.svc":       {kind: endpoint, service: "web.shop", namespace: "shop", label: "http", cluster: "_tcp", below: "http._tcp"},
		"*.web.shop.svc":               {kind: endpoint, service: "web.shop", namespace: "shop", label: "*", below: "*"},
		"_.web.shop.svc":               of(other, question{service: "web.shop", namespace: "shop", below: "_"}),
		"_._tcp.web.shop.svc":          of(other, question{service: "web.shop", namespace: "shop", below: "_._tcp"}),
		"_http._.web.shop.svc":         of(other, question{service: "web.shop", namespace: "shop", below: "_http._"}),
		"_http.tcp.web.shop.svc":       of(other, question{service: "web.shop", namespace: "shop", below: "_http.tcp"}),
		"_http._tcp.east.web.shop.svc": of(other, question{service: "web.shop", namespace: "shop", below: "_http._tcp.east"}),
		"x._http._tcp.web.shop.svc":    {kind: endpoint, service: "web.shop", namespace: "shop", label: "x", cluster: "_http._tcp", below: "x._http._tcp"},
		`web\.shop.svc`:                {},
		`a\.b.web.shop.svc`:            {},
		"x":                            {},
		"svc.x":                        {},
		"x.dns":                        {},
		"ns.dns-version":               {},
	} {
		if got := parse(name); got != want {
			t.Errorf("%q: got %+v, want %+v", name, got, want)
		}
	}
}

func TestTheLongestZoneThatHoldsAName(t *testing.T) {
	zones := []zone{newZone("clusterset.local."), newZone("a.clusterset.local."), newZone("example.org.")}
	for name, want := range map[string][2]string{
		"clusterset.local.":              {"clusterset.local.", ""},
		"web.shop.svc.clusterset.local.": {"clusterset.local.", "web.shop.svc"},
		"x.a.clusterset.local.":          {"a.clusterset.local.", "x"},
		"a.clusterset.local.":            {"a.clusterset.local.", ""},
		"xa.clusterset.local.":           {"clusterset.local.", "xa"},
		"xclusterset.local.":             {"", ""},
		`x\.clusterset.local.`:           {"", ""},
		`x\\.clusterset.local.`:          {"clusterset.local.", `x\\`},
		`x\\\.clusterset.local.`:         {"", ""},
		"local.":                         {"", ""},
		".":                              {"", ""},
		"":                               {"", ""},
	} {
		z, left := matchZone(zones, name)
		got := [2]string{"", left}
		if z != nil {
			got[0] = z.origin
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
		if in := name != "" && dns.IsSubDomain("clusterset.local.", name) || name != "" && dns.IsSubDomain("example.org.", name); in != (z != nil) {
			t.Errorf("%q: miekg/dns says %v", name, in)
		}
	}
	root := []zone{newZone(".")}
	if z, left := matchZone(root, "web.shop.svc."); z == nil || left != "web.shop.svc" || z.ns != "ns.dns." {
		t.Errorf("in the root zone: got %+v, %q", z, left)
	}
	if z, left := matchZone(root, "."); z == nil || left != "" {
		t.Errorf("the root itself: got %+v, %q", z, left)
	}
}

// FuzzParse holds parse to a second way of splitting a name.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "svc", "web.shop.svc", "_http._tcp.web.shop.svc", "a.b.c.web.shop.svc", "_._._._.svc", "..svc", `\..svc`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		q := parse(name)
		labels := strings.Split(name, ".")
		n := len(labels)
		if strings.Contains(name, `\`) || n < 3 || labels[n-1] != "svc" {
			if q.service != "" {
				t.Errorf("%q names service %q", name, q.service)
			}
			return
		}
		if want := labels[n-3] + "." + labels[n-2]; q.service != want || q.namespace != labels[n-2] {
			t.Errorf("%q: service %q in %q, want %q", name, q.service, q.namespace, want)
		}
		if q.kind == port && (n != 5 || "_"+q.port != labels[0] || "_"+q.protocol != labels[1]) {
			t.Errorf("%q: port %q, protocol %q", name, q.port, q.protocol)
		}
		if q.kind == endpoint && q.label != labels[0] {
			t.Errorf("%q: hostname %q", name, q.label)
		}
	})
}
