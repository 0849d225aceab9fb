package multicluster

import (
	"errors"

	"clusterset.local/multicluster/indexer"

	"github.com/coredns/coredns/plugin/transfer"

	"github.com/miekg/dns"
)

var errNotSynced = errors.New("the source has not been read completely yet")

// Transfer implements transfer.Transferer: the whole zone, from one state of
// the index, however long it takes to send. An IXFR is answered in full, or
// with one SOA record if the client's copy is current (RFC 1995, 4).
func (m *Multicluster) Transfer(origin string, serial uint32) (<-chan []dns.RR, error) {
	var z *zone
	for i := range m.zones {
		if m.zones[i].origin == origin {
			z = &m.zones[i]
		}
	}
	if z == nil {
		return nil, transfer.ErrNotAuthoritative
	}
	snap := m.index.Snapshot()
	if !snap.Synced() {
		return nil, errNotSynced
	}
	ch := make(chan []dns.RR)
	go func() {
		defer close(ch)
		soa := []dns.RR{z.soa(z.origin, m.ttl, snap.Serial())}
		ch <- soa
		if serial != 0 && int32(snap.Serial()-serial) <= 0 { // RFC 1982
			return
		}
		t := transferring{m, z, snap, ch}
		t.own()
		for svc := range snap.Services(m.lens) {
			t.service(svc)
		}
		ch <- soa
	}()
	return ch, nil
}

// transferring sends the RRsets of a zone by asking for each of them as a
// query would.
type transferring struct {
	m    *Multicluster
	zone *zone
	snap *indexer.Snapshot
	ch   chan<- []dns.RR
}

// send sends the records that a name owns of some types.
func (t *transferring) send(owner string, q question, types ...uint16) {
	for _, qtype := range types {
		var msg dns.Msg
		a := t.m.answer(&msg, t.zone, owner, t.snap)
		a.qtype = qtype
		a.resolve(&q)
		if len(msg.Answer) > 0 {
			t.ch <- msg.Answer
		}
	}
}

func (t *transferring) own() {
	t.send(t.zone.origin, question{kind: apex}, dns.TypeNS)
	t.send(t.zone.ns, question{kind: nsName}, dns.TypeA, dns.TypeAAAA)
	t.send(t.zone.version, question{kind: version}, dns.TypeTXT)
}

func (t *transferring) service(svc *indexer.Service) {
	name := svc.Key() + "." + t.zone.svc
	q := question{kind: service, service: svc.Key()}
	t.send(name, q, dns.TypeA, dns.TypeAAAA, dns.TypeSRV)
	if svc.Kind() == indexer.ClusterSetIP {
		for i, p := range svc.Ports() {
			if i == 0 || p.Name != svc.Ports()[i-1].Name || p.Protocol != svc.Ports()[i-1].Protocol {
				t.port(name, q, p.Name, p.Protocol)
			}
		}
		return
	}
	r := svc.Roster(t.m.lens)
	for p := range r.PortSets {
		port, protocol := p.Name()
		t.port(name, q, port, protocol)
	}
	var w indexer.Walk
	r.WalkHosts(&w, 0)
	for e := w.Next(); e != nil; e = w.Next() {
		host := string(e.AppendHost(nil))
		q.kind = endpoint
		q.label, q.cluster = host[:len(host)-len(e.Cluster())-1], e.Cluster()
		q.below = host
		t.send(host+"."+name, q, dns.TypeA, dns.TypeAAAA)
	}
}

func (t *transferring) port(name string, q question, portName, protocol string) {
	if portName != "" {
		q.kind, q.port, q.protocol = port, portName, protocol
		t.send("_"+portName+"._"+protocol+"."+name, q, dns.TypeSRV)
	}
}
