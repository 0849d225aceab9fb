package multicluster

import (
	"net"
	"net/netip"
	"strings"

	"clusterset.local/multicluster/indexer"

	"github.com/miekg/dns"
)

// answer fills a message with the records of one owner name: the only place
// that makes records, for queries and transfers alike. It makes no more of
// them than fit.
type answer struct {
	msg   *dns.Msg
	zone  *zone
	owner string // as the question spells it
	qtype uint16
	ttl   uint32
	snap  *indexer.Snapshot
	lens  *indexer.Lens
	taken net.Addr     // where the server took the query, nil if there is none
	local []netip.Addr // the server's addresses, where taken does not tell

	stream bool   // over a transport that carries 65 535 octets
	room   int    // octets of the message that are left
	offset int    // octets of the message that are used
	ring   uint32 // where on a ring of endpoints this client begins
}

// unlimited is the room of a record set that goes out in as many messages as
// it takes.
const unlimited = 1 << 40

// resolve adds the records of the asked type that the name owns, and reports
// whether the name exists.
func (a *answer) resolve(q *question) bool {
	switch q.kind {
	case apex:
		a.apex()
		return true
	case nsName:
		a.addresses(a.owner, a.server())
		return true
	case version:
		a.version()
		return true
	case dnsName:
		return true
	case svcName:
		return a.snap.Any(a.lens)
	case namespace:
		return a.snap.Namespace(a.lens, q.namespace)
	case other:
		return false
	}
	svc := a.snap.Service(a.lens, q.service)
	switch {
	case svc == nil:
		return false
	case svc.Kind() == indexer.Headless:
		return a.headless(svc.Roster(a.lens), q)
	}
	return a.clusterSetIP(svc, q)
}

// any adds one RRset of the name, whichever it has: that is an answer to a
// question for all types (RFC 8482, 4.1).
func (a *answer) any(q *question) bool {
	for _, a.qtype = range [...]uint16{dns.TypeSOA, dns.TypeTXT, dns.TypeA, dns.TypeAAAA, dns.TypeSRV} {
		if exists := a.resolve(q); !exists || len(a.msg.Answer) > 0 {
			return exists
		}
	}
	return true
}

func (a *answer) apex() {
	switch a.qtype {
	case dns.TypeSOA:
		a.add(a.zone.soa(a.owner, a.ttl, a.snap.Serial()))
	case dns.TypeNS:
		a.add(&dns.NS{Hdr: a.header(dns.TypeNS), Ns: a.zone.ns})
		a.glueFor(a.zone.ns, a.server())
	}
}

// server returns the addresses of ns.dns.Z.
func (a *answer) server() []netip.Addr {
	if ip, ok := addrOf(a.taken); ok && !ip.IsUnspecified() {
		return []netip.Addr{ip}
	}
	return a.local
}

func (a *answer) version() {
	if a.qtype == dns.TypeTXT {
		txt := &dns.TXT{Hdr: a.header(dns.TypeTXT), Txt: []string{schemaVersion}}
		txt.Hdr.Ttl = 28800
		a.add(txt)
	}
}

// add appends one of the few records that always fit.
func (a *answer) add(rr dns.RR) {
	a.msg.Answer = append(a.msg.Answer, rr)
	a.take(dns.Len(rr))
}

func (a *answer) take(n int) {
	a.room -= n
	a.offset += n
}

func (a *answer) header(rrtype uint16) dns.RR_Header {
	return dns.RR_Header{Name: a.owner, Rrtype: rrtype, Class: dns.ClassINET, Ttl: a.ttl}
}

func (a *answer) clusterSetIP(svc *indexer.Service, q *question) bool {
	switch q.kind {
	case service:
		a.addresses(a.owner, svc.IPs())
		if len(svc.IPs()) > 0 && a.qtype == dns.TypeSRV {
			a.serviceSRV(svc, svc.Ports())
		}
		return true
	case port, protocol:
		ports := matching(svc.Ports(), q)
		if len(svc.IPs()) == 0 || len(ports) == 0 {
			return false
		}
		if q.kind == port && a.qtype == dns.TypeSRV {
			a.serviceSRV(svc, ports)
		}
		return true
	}
	return false
}

// matching returns the named ports below the protocol or port that q names.
func matching(ports []indexer.Port, q *question) []indexer.Port {
	from, to := 0, 0
	for i, p := range ports {
		if p.Name != "" && p.Protocol == q.protocol && (q.kind == protocol || p.Name == q.port) {
			if to == 0 {
				from = i
			}
			to = i + 1
		}
	}
	return ports[from:to]
}

func (a *answer) headless(r *indexer.Roster, q *question) bool {
	switch q.kind {
	case service:
		switch a.qtype {
		case dns.TypeA, dns.TypeAAAA:
			a.endpointAddresses(r)
		case dns.TypeSRV:
			a.endpointSRV(r.SRV(nil), q.service)
		}
		return true
	case protocol:
		return r.Protocol(q.protocol)
	case port:
		set := r.Port(q.port, q.protocol)
		if set != nil && a.qtype == dns.TypeSRV {
			a.endpointSRV(r.SRV(set), q.service)
		}
		return set != nil
	}
	if q.cluster != "" && r.HasHost(q.label, q.cluster) {
		a.hostAddresses(r, q.label, q.cluster)
		return true
	}
	return r.Above(q.below)
}

// family returns the mark of endpoints and the size of a record that the asked
// type takes, 0 if it is no address.
func (a *answer) family() (marks uint8, size int) {
	switch a.qtype {
	case dns.TypeA:
		return indexer.MarkIPv4, pointer + fixed + 4
	case dns.TypeAAAA:
		return indexer.MarkIPv6, pointer + fixed + 16
	}
	return 0, 0
}

// Octets of a record: its owner, where it is compressed (RFC 1035, 4.1.4); its
// type, class, TTL and length; and what an SRV record has before its target.
const (
	pointer  = 2
	fixed    = 10
	srvFixed = 6
)

func (a *answer) endpointAddresses(r *indexer.Roster) {
	marks, size := a.family()
	n := r.Addresses(marks)
	if n == 0 {
		return
	}
	fit := min(n, a.room/size)
	a.msg.Truncated = fit < n
	set := newAddresses(fit, a.header(a.qtype))
	var w indexer.Walk
	r.WalkAddresses(&w, a.ring, marks)
	for range fit {
		set.append16(w.Next().As16())
	}
	a.msg.Answer = set.rrs
	a.take(fit * size)
}

func (a *answer) hostAddresses(r *indexer.Roster, label, cluster string) {
	marks, size := a.family()
	if marks == 0 {
		return
	}
	set := addresses{header: a.header(a.qtype)}
	var w indexer.HostWalk
	r.WalkHost(&w, label, cluster, a.ring, marks)
	for e := w.Next(); e != nil; e = w.Next() {
		if a.room < size {
			a.msg.Truncated = true
			break
		}
		set.append16(e.As16())
		a.take(size)
	}
	a.msg.Answer = set.rrs
}

// addresses adds the addresses of the asked family among the few that ips are.
func (a *answer) addresses(owner string, ips []netip.Addr) {
	marks, size := a.family()
	for _, ip := range ips {
		if size > 0 && ip.Is4() == (marks == indexer.MarkIPv4) {
			hdr := a.header(a.qtype)
			hdr.Name = owner
			set := newAddresses(1, hdr)
			set.append16(ip.As16())
			a.msg.Answer = append(a.msg.Answer, set.rrs[0])
			a.take(size)
		}
	}
}

// serviceSRV adds the SRV records of a ClusterSetIP service: one for each
// number, all with the service as their target, and its IPs as glue.
func (a *answer) serviceSRV(svc *indexer.Service, ports []indexer.Port) {
	target := svc.Key() + "." + a.zone.svc
	size := pointer + fixed + srvFixed + len(target) + 1
	numbers := make([]uint16, 0, len(ports))
	for _, p := range ports {
		numbers = appendNumber(numbers, p.Number)
	}
	fit := min(len(numbers), a.room/size)
	a.msg.Truncated = fit < len(numbers)
	srvs := make([]dns.SRV, fit)
	a.msg.Answer = make([]dns.RR, fit)
	for i := range srvs {
		srvs[i] = dns.SRV{Hdr: a.header(dns.TypeSRV), Weight: weight(len(numbers)), Port: numbers[i], Target: target}
		a.msg.Answer[i] = &srvs[i]
	}
	a.take(fit * size)
	a.glueFor(target, svc.IPs())
}

func appendNumber(ns []uint16, n uint16) []uint16 {
	for _, m := range ns {
		if m == n {
			return ns
		}
	}
	return append(ns, n)
}

// weight gives the n records of an RRset equal shares.
func weight(n int) uint16 { return uint16(max(1, 100/n)) }

// srvRecord is an SRV record of a Headless service, in one piece with what is
// needed to finish it.
type srvRecord struct {
	dns.SRV
	endpoint *indexer.Endpoint // that the target names; nil: the target is that of the record before
	from, to int               // the target, in the text of all
	offset   int               // of the target in the message
}

// endpointSRV adds the SRV records of a Headless service, as many as fit, then
// the addresses of their targets.
func (a *answer) endpointSRV(set indexer.SRV, service string) {
	n := set.Records()
	if n == 0 {
		return
	}
	suffix := len(service) + len(a.zone.svc) + 2 // with the dots before each
	shortest := pointer + fixed + srvFixed + suffix + 4
	srvs := make([]srvRecord, 0, min(n, a.room/shortest+1))
	var names strings.Builder
	names.Grow(cap(srvs) * (suffix + 20))
	var w indexer.Walk
	var numbers [8]uint16
	var host [128]byte
	set.Walk(&w, a.ring)
fill:
	for e := w.Next(); e != nil; e = w.Next() {
		from := names.Len()
		name := e.AppendHost(host[:0])
		size := pointer + fixed + srvFixed + len(name) + suffix + 1
		for i, number := range set.Numbers(e, numbers[:0]) {
			if size > a.room {
				a.msg.Truncated = true
				break fill
			}
			if i == 0 {
				names.Write(name)
				for _, part := range [...]string{".", service, ".", a.zone.svc} {
					names.WriteString(part)
				}
			}
			r := srvRecord{SRV: dns.SRV{Hdr: a.header(dns.TypeSRV), Weight: weight(n), Port: number}, from: from, to: names.Len()}
			if i == 0 {
				r.endpoint, r.offset = e, a.offset+pointer+fixed+srvFixed
			}
			srvs = append(srvs, r)
			a.take(size)
		}
	}
	a.msg.Answer = make([]dns.RR, len(srvs))
	for i := range srvs {
		srvs[i].Target = names.String()[srvs[i].from:srvs[i].to]
		a.msg.Answer[i] = &srvs[i].SRV
	}
	a.glue(set.Roster(), srvs)
}

// farthest is the last offset that a compressed name can point to.
const farthest = 1<<14 - 1

// glue adds the targets' addresses as far as they fit; that some do not is no
// reason for TC (RFC 2181, 9).
func (a *answer) glue(r *indexer.Roster, srvs []srvRecord) {
	most := max(a.room, 0) / (pointer + fixed + 4)
	set := newAddresses(min(len(srvs), most), dns.RR_Header{Class: dns.ClassINET, Ttl: a.ttl})
	var w indexer.HostWalk
	for i := range srvs {
		t := &srvs[i]
		if t.endpoint == nil {
			continue
		}
		owner := pointer
		if t.offset > farthest {
			owner = len(t.Target) + 1
		}
		set.header.Name = t.Target
		label, _, _ := strings.Cut(t.Target, ".")
		r.WalkHost(&w, label, t.endpoint.Cluster(), a.ring, indexer.MarkIPv4|indexer.MarkIPv6)
		for e := w.Next(); e != nil; e = w.Next() {
			size := owner + fixed + 16
			if e.Is4() {
				size = owner + fixed + 4
			}
			if size > a.room {
				a.msg.Extra = set.rrs
				return
			}
			set.append16(e.As16())
			a.take(size)
		}
	}
	a.msg.Extra = set.rrs
}

// glueFor adds the addresses of a name that the answer points to, as far as
// they fit.
func (a *answer) glueFor(name string, ips []netip.Addr) {
	set := newAddresses(len(ips), dns.RR_Header{Name: name, Class: dns.ClassINET, Ttl: a.ttl})
	for _, ip := range ips {
		if size := pointer + fixed + ip.BitLen()/8; size <= a.room {
			set.append16(ip.As16())
			a.take(size)
		}
	}
	a.msg.Extra = set.rrs
}
