package indexer

import (
	"net/netip"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// An entry of Slice.packed is one address of one endpoint that counts:
//
//	flags, address (4 or 16 octets), [length, hostname], [length, pod name]
//
// It is some 5 octets for a pod that has no hostname, 25 with a name. All
// endpoints are kept in this form, those of a ClusterSetIP service in no other.
const (
	hasHostname = 1 << iota // a hostname that is a label, in lower case
	badHostname             // a hostname that is not: the address has no name
	hasPodName              // the pod's name, where it can stand for the hostname
)

func (s *Slice) pack(endpoints []discoveryv1.Endpoint, room int, podNames bool) {
	var b []byte
	size := 5
	if s.v6 {
		size = 17
	}
	b = make([]byte, 0, size*len(endpoints))
	for i := range endpoints {
		e := &endpoints[i]
		if e.Conditions.Ready != nil && !*e.Conditions.Ready {
			s.unready++
			continue
		}
		s.ready++
		b = s.packEndpoint(b, e, room, podNames)
	}
	s.packed = string(b)
}

func (s *Slice) packEndpoint(b []byte, e *discoveryv1.Endpoint, room int, podNames bool) []byte {
	var flags byte
	hostname, pod := "", ""
	switch h := lower(deref(e.Hostname)); {
	case h == "":
	case !isLabel(h):
		flags = badHostname
		s.leaveOut(ReasonHostname, "hostname %q is not one DNS label", *e.Hostname)
	default:
		flags, hostname = hasHostname, h
	}
	if podNames && flags == 0 && e.TargetRef != nil && e.TargetRef.Kind == "Pod" && isLabel(e.TargetRef.Name) {
		flags, pod = hasPodName, e.TargetRef.Name
	}
	for _, addr := range e.Addresses {
		a, err := netip.ParseAddr(addr)
		if err != nil || a.Zone() != "" || a.Is4() == s.v6 || a.Is4In6() {
			s.leaveOut(ReasonAddress, "%q is not an address of the slice's family", addr)
			continue
		}
		if n := len(hostname); n > 0 && n+len(s.origin.Cluster)+2 > room && s.origin.Cluster != "" {
			s.leaveOut(ReasonLength, "the name of endpoint %q would exceed 253 octets", hostname)
		}
		b = append(b, flags)
		b = append(b, a.AsSlice()...)
		for _, name := range [...]string{hostname, pod} {
			if name != "" {
				b = append(b, byte(len(name)))
				b = append(b, name...)
			}
		}
	}
	return b
}

// entries yields the entries of s as they are packed.
func (s *Slice) entries(yield func(string) bool) {
	size := 5
	if s.v6 {
		size = 17
	}
	for p := s.packed; p != ""; {
		n := size
		for names := p[0] & (hasHostname | hasPodName); names != 0; names &= names - 1 {
			n += 1 + int(p[n])
		}
		if !yield(p[:n]) {
			return
		}
		p = p[n:]
	}
}

// endpoint unpacks an entry. podNames says whether a pod's name stands for a
// hostname that is not set.
func (s *Slice) endpoint(entry string, podNames bool, room int) *Endpoint {
	e := &Endpoint{origin: s.origin}
	size := 5
	if s.v6 {
		size = 17
		copy(e.addr[:], entry[1:])
	} else {
		var v4 [4]byte
		copy(v4[:], entry[1:])
		e.addr = netip.AddrFrom4(v4).As16()
	}
	flags := entry[0]
	switch {
	case flags&badHostname != 0:
		e.label = &nameless
	case flags&hasHostname != 0, flags&hasPodName != 0 && podNames:
		label := strings.Clone(entry[size+1:])
		e.label = &label
	}
	if s.origin.Cluster != "" && e.label != &nameless {
		var buf [64]byte
		if len(e.appendLabel(buf[:0]))+len(s.origin.Cluster)+2 > room {
			e.label = &nameless
		}
	}
	return e
}
