package multicluster

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"clusterset.local/multicluster/indexer"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/request"

	"github.com/miekg/dns"
)

// ServeDNS implements plugin.Handler.
func (m *Multicluster) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	if len(r.Question) != 1 {
		return dns.RcodeFormatError, nil // RFC 9619
	}
	state := request.Request{W: w, Req: r}
	qname := r.Question[0].Name
	zone, left := matchZone(m.zones, strings.ToLower(qname))
	if zone == nil {
		return plugin.NextOrFailure(pluginName, m.Next, ctx, w, r)
	}
	switch {
	case r.Opcode != dns.OpcodeQuery:
		return dns.RcodeNotImplemented, nil
	case state.QType() == dns.TypeAXFR, state.QType() == dns.TypeIXFR, state.QClass() != dns.ClassINET && state.QClass() != dns.ClassANY:
		return dns.RcodeRefused, nil // a transfer that the transfer plugin did not take, or another class
	}
	snap := m.index.Snapshot()
	if !snap.Synced() {
		return dns.RcodeServerFailure, nil // unknown is not empty
	}

	reply := newReply(r)
	a := m.answer(&reply.Msg, zone, qname, snap)
	a.fit(&state)
	q := parse(left)
	exists := false
	if a.qtype = state.QType(); a.qtype == dns.TypeANY {
		exists = a.any(&q)
	} else {
		exists = a.resolve(&q)
	}
	if !exists {
		if m.Fall.Through(qname) {
			return plugin.NextOrFailure(pluginName, m.Next, ctx, w, r)
		}
		reply.Rcode = dns.RcodeNameError
	}
	if a.stream {
		reply.Truncated = false // there is nothing larger to come back to
	}
	if len(reply.Answer) == 0 && !reply.Truncated {
		owner := qname[len(qname)-len(zone.origin):]
		reply.Ns = []dns.RR{zone.soa(owner, m.ttl, snap.Serial())}
	}
	// An error here means that the client is gone, or that the reply does not
	// pack; there is nobody to tell but the log.
	if err := w.WriteMsg(&reply.Msg); err != nil {
		log.Debugf("Reply to %s %s was not sent: %s", state.IP(), qname, err)
	}
	return dns.RcodeSuccess, nil
}

// reply is a message and its question in one piece of memory.
type reply struct {
	dns.Msg
	question [1]dns.Question
}

func newReply(r *dns.Msg) *reply {
	m := &reply{question: [1]dns.Question{r.Question[0]}}
	m.Id, m.Opcode = r.Id, r.Opcode
	m.Response, m.Authoritative = true, true
	m.RecursionDesired, m.CheckingDisabled = r.RecursionDesired, r.CheckingDisabled
	m.Question = m.question[:]
	return m
}

func (m *Multicluster) answer(msg *dns.Msg, z *zone, owner string, snap *indexer.Snapshot) answer {
	return answer{msg: msg, zone: z, owner: owner, ttl: m.ttl, snap: snap, lens: m.lens, local: m.addrs, room: unlimited}
}

// headerSize is that of a message without its sections (RFC 1035, 4.1.1).
const headerSize = 12

// fit bounds the answer by what the client takes, and begins it at a place
// that is the client's own, the same for every type and family.
func (a *answer) fit(state *request.Request) {
	a.offset = headerSize + len(a.owner) + 1 + 4
	a.room = state.Size() - a.offset
	if opt := state.Req.IsEdns0(); opt != nil {
		a.room -= dns.Len(opt)
	}
	a.stream = state.Proto() != "udp"
	if ip, ok := addrOf(state.W.RemoteAddr()); ok {
		ip16 := ip.As16()
		a.ring = indexer.Hash(ip16[:])
	}
	a.taken = state.W.LocalAddr()
}

// addrOf returns the IP address of a transport's address.
func addrOf(a net.Addr) (netip.Addr, bool) {
	if u, ok := a.(interface{ Unwrap() net.Addr }); ok && u.Unwrap() != nil {
		a = u.Unwrap()
	}
	var ip net.IP
	switch a := a.(type) {
	case *net.UDPAddr:
		ip = a.IP
	case *net.TCPAddr:
		ip = a.IP
	}
	addr, ok := netip.AddrFromSlice(ip)
	return addr.Unmap(), ok
}
