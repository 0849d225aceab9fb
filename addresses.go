package multicluster

import (
	"net/netip"

	"github.com/miekg/dns"
)

// addresses makes A and AAAA records. Their memory is one piece for each
// family and belongs to one reply alone, so that whatever is done to the reply
// stays there.
type addresses struct {
	header dns.RR_Header // but for the type
	rrs    []dns.RR
	v4     []a4
	v6     []a6
}

type a4 struct {
	dns.A
	ip [4]byte
}

type a6 struct {
	dns.AAAA
	ip [16]byte
}

// newAddresses makes room for n records.
func newAddresses(n int, header dns.RR_Header) addresses {
	return addresses{header: header, rrs: make([]dns.RR, 0, n)}
}

// append16 appends the record of an address, of IPv4 as ::ffff:0:0/96.
func (s *addresses) append16(addr [16]byte) {
	if ip := netip.AddrFrom16(addr); ip.Is4In6() {
		if len(s.v4) == cap(s.v4) {
			s.v4 = make([]a4, 0, max(1, cap(s.rrs)-len(s.rrs)))
		}
		s.v4 = append(s.v4, a4{ip: ip.Unmap().As4()})
		r := &s.v4[len(s.v4)-1]
		r.Hdr, r.A.A = s.header, r.ip[:]
		r.Hdr.Rrtype = dns.TypeA
		s.rrs = append(s.rrs, &r.A)
		return
	}
	if len(s.v6) == cap(s.v6) {
		s.v6 = make([]a6, 0, max(1, cap(s.rrs)-len(s.rrs)))
	}
	s.v6 = append(s.v6, a6{ip: addr})
	r := &s.v6[len(s.v6)-1]
	r.Hdr, r.AAAA.AAAA = s.header, r.ip[:]
	r.Hdr.Rrtype = dns.TypeAAAA
	s.rrs = append(s.rrs, &r.AAAA)
}
