package multicluster

import (
	"strings"

	"github.com/miekg/dns"
)

// zone is a zone of the stanza, with the names that never change spelled out.
type zone struct {
	origin  string // fully qualified, in lower case
	ns      string // ns.dns.Z
	mbox    string // hostmaster.Z
	version string // dns-version.Z
	svc     string // svc.Z
}

// schemaVersion is the version of the KEP-1645 DNS specification (2.2) that
// the zone follows.
const schemaVersion = "1.0.0"

func newZone(origin string) zone {
	below := func(name string) string {
		if origin == "." {
			return name + "."
		}
		return name + "." + origin
	}
	return zone{
		origin: origin, ns: below("ns.dns"), mbox: below("hostmaster"),
		version: below("dns-version"), svc: below("svc"),
	}
}

// nameLength returns how many octets a name has left of "svc.Z": a name is 253
// octets at most, its final dot apart (RFC 1035, 2.3.4).
func (z *zone) nameLength() int { return 253 - len(z.svc) }

// matchZone returns the zone that name, in lower case, is or lies below, the
// longest if there are several; and what is left of it, "" for the zone
// itself.
func matchZone(zones []zone, name string) (z *zone, left string) {
	for i := range zones {
		o := zones[i].origin
		if z != nil && len(o) <= len(z.origin) {
			continue
		}
		if l, ok := cutZone(name, o); ok {
			z, left = &zones[i], l
		}
	}
	return z, left
}

func cutZone(name, origin string) (string, bool) {
	switch {
	case origin == ".":
		return strings.TrimSuffix(name, "."), true
	case name == origin:
		return "", true
	case len(name) <= len(origin) || !strings.HasSuffix(name, origin):
		return "", false
	}
	dot := len(name) - len(origin) - 1
	if name[dot] != '.' {
		return "", false
	}
	// The dot may be an escaped one, in the middle of a label.
	escapes := 0
	for i := dot - 1; i >= 0 && name[i] == '\\'; i-- {
		escapes++
	}
	return name[:dot], escapes%2 == 0
}

// soa returns the zone's SOA record, its owner spelled as in the question.
func (z *zone) soa(owner string, ttl, serial uint32) *dns.SOA {
	return &dns.SOA{
		Hdr: dns.RR_Header{Name: owner, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: ttl},
		Ns:  z.ns, Mbox: z.mbox, Serial: serial,
		Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: ttl,
	}
}
