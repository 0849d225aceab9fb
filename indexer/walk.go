package indexer

import "bytes"

// Roster returns the endpoints of a Headless service as l names them, nil for
// a ClusterSetIP service.
func (s *Service) Roster(l *Lens) *Roster { return s.rosters[l.filter.naming()] }

// Addresses returns how many distinct addresses of a family there are.
func (r *Roster) Addresses(marks uint8) int {
	if marks == MarkIPv4 {
		return r.v4
	}
	return r.v6
}

// Port returns the endpoints that have a port, nil if none does. Without a
// name it is those of all ports of the protocol that have none.
func (r *Roster) Port(name, protocol string) *PortSet { return r.port(name, protocol) }

// Protocol reports whether a named port of that protocol is there.
func (r *Roster) Protocol(name string) bool { return r.protocol(name) }

// Above reports whether name is a cluster ID under which an endpoint has a
// name, or the last labels of one.
func (r *Roster) Above(name string) bool { return r.suffix(name) != nil }

// PortSets yields the sets of all ports, those without a name included.
func (r *Roster) PortSets(yield func(*PortSet) bool) { r.ports.all(yield) }

// Name returns the port's name and protocol, in lower case.
func (p *PortSet) Name() (name, protocol string) { return p.name, p.protocol }

// SRV is an SRV RRset below a Headless service.
type SRV struct {
	r *Roster
	p *PortSet // nil: the service's own name, with all ports
}

// SRV returns the RRset of a port's name or, with nil, of the service's own.
func (r *Roster) SRV(p *PortSet) SRV { return SRV{r, p} }

// Roster returns the roster that the targets are of.
func (s SRV) Roster() *Roster { return s.r }

// Records returns how many records there are.
func (s SRV) Records() int {
	if s.p != nil {
		return s.p.records
	}
	return s.r.srv
}

// Walk walks one endpoint for each name that has a record.
func (s SRV) Walk(w *Walk, from uint32) {
	if s.p != nil {
		w.begin(s.p.hosts, from, MarkNamed, passSameHost)
		return
	}
	w.begin(s.r.hosts, from, MarkNamed, passSameHost)
}

// Numbers appends the port numbers that e's name has records for.
func (s SRV) Numbers(e *Endpoint, ns []uint16) []uint16 {
	if s.p == nil {
		return s.r.numbers(e, ns)
	}
	return s.p.appendNumbers(e, ns)
}

// Walk goes once round a ring of endpoints, from a place on it to that place
// again. It lives on its user's stack; its steps allocate nothing.
type Walk struct {
	tree    tree[Endpoint]
	c       cursor[Endpoint]
	from    uint32
	marks   uint8
	wrapped bool
	pass    pass
}

// pass is what a walk passes over behind an endpoint. It is no function value:
// calling one would put the walk on the heap.
type pass uint8

const (
	passNothing pass = iota
	passSameHost
	passSameAddress
)

// begin starts a walk at the first endpoint at or after from on the ring.
func (w *Walk) begin(t tree[Endpoint], from uint32, marks uint8, p pass) {
	*w = Walk{tree: t, from: from, marks: marks, pass: p}
	w.c.seek(t, from, nil)
}

// Next returns the next endpoint, nil when the walk has come round.
func (w *Walk) Next() *Endpoint {
	for {
		e := w.c.peek()
		switch {
		case e == nil && w.wrapped:
			return nil
		case e == nil:
			w.wrapped = true
			w.c.start(w.tree)
			if w.c.peek() == nil {
				return nil
			}
			continue
		case w.wrapped && w.c.hash() >= w.from:
			return nil
		}
		wanted := e.marks()&w.marks != 0
		switch {
		case wanted && w.pass == passSameHost:
			passHost(&w.c, w.tree)
		case wanted && w.pass == passSameAddress:
			passAddress(&w.c, w.tree)
		default:
			w.c.next(w.marks)
		}
		if wanted {
			return e
		}
	}
}

// WalkAddresses walks the distinct addresses of a family. As a rule it goes by
// the endpoints' names, so that one place on the ring yields the same
// endpoints for either family; where an address is there twice, by address.
func (r *Roster) WalkAddresses(w *Walk, from uint32, marks uint8) {
	if r.v4+r.v6 == r.hosts.n {
		w.begin(r.hosts, from, marks, passNothing)
		return
	}
	w.begin(r.addrs, from, marks, passSameAddress)
}

// WalkHosts walks one endpoint for each name.
func (r *Roster) WalkHosts(w *Walk, from uint32) { w.begin(r.hosts, from, MarkNamed, passSameHost) }

// passHost moves a cursor in a tree by name past all endpoints of one name.
func passHost(c *cursor[Endpoint], t tree[Endpoint]) {
	x, h := c.peek(), c.hash()
	for range 2 {
		c.next(MarkNamed)
		if y := c.peek(); y == nil || c.hash() != h || y.compareHost(x) != 0 {
			return
		}
	}
	c.seek(t, h, func(y *Endpoint) int {
		if d := y.compareHost(x); d != 0 {
			return d
		}
		return -1
	})
}

// passAddress moves a cursor in a tree by address past all of one address.
func passAddress(c *cursor[Endpoint], t tree[Endpoint]) {
	x, h := c.peek(), c.hash()
	for range 2 {
		c.next(0)
		if y := c.peek(); y == nil || y.addr != x.addr {
			return
		}
	}
	c.seek(t, h, func(y *Endpoint) int {
		if d := bytes.Compare(y.addr[:], x.addr[:]); d != 0 {
			return d
		}
		return -1
	})
}

// HostWalk goes once round the distinct addresses of one name.
type HostWalk struct {
	tree           tree[Endpoint]
	c              cursor[Endpoint]
	label, cluster string
	hash, from     uint32
	marks          uint8
	wrapped        bool
	last           *Endpoint
}

// WalkHost walks the addresses of one endpoint name, of the families in marks,
// from a place on the ring of their own. Names are in lower case.
func (r *Roster) WalkHost(w *HostWalk, label, cluster string, from uint32, marks uint8) {
	*w = HostWalk{tree: r.hosts, label: label, cluster: cluster, hash: HostHash(label, cluster), from: from, marks: marks}
	w.seek(from)
}

// HasHost reports whether an endpoint has that name.
func (r *Roster) HasHost(label, cluster string) bool {
	return r.hosts.find(HostHash(label, cluster), func(e *Endpoint) int { return e.compareName(label, cluster) }) != nil
}

func (w *HostWalk) seek(from uint32) {
	w.c.seek(w.tree, w.hash, func(e *Endpoint) int {
		if d := e.compareName(w.label, w.cluster); d != 0 {
			return d
		}
		if e.addrHash() < from {
			return -1
		}
		return 1
	})
}

// Next returns the next endpoint, nil when the walk has come round.
func (w *HostWalk) Next() *Endpoint {
	for {
		e := w.c.peek()
		if e == nil || w.c.hash() != w.hash || e.compareName(w.label, w.cluster) != 0 {
			if w.wrapped || w.from == 0 {
				return nil
			}
			w.wrapped = true
			w.seek(0)
			continue
		}
		if w.wrapped && e.addrHash() >= w.from {
			return nil
		}
		w.c.next(0)
		if e.marks()&w.marks == 0 || w.last != nil && w.last.addr == e.addr {
			continue
		}
		w.last = e
		return e
	}
}
