package indexer

import (
	"bytes"
	"slices"
	"strings"
)

// A Roster holds the endpoints of one Headless service that count, under the
// names that one way of naming gives them. It is immutable: a change makes a
// new one that shares all trees' nodes but those on the way to what changed.
type Roster struct {
	hosts    tree[Endpoint] // all, by name
	addrs    tree[Endpoint] // all, by address: finds addresses that are there twice
	ports    tree[PortSet]  // of the endpoints that have a name
	clusters tree[suffix]   // names above the endpoints' own
	v4, v6   int            // distinct addresses
	srv      int            // SRV records of the service's own name
}

// PortSet is the endpoints that have one port: the owner of an SRV RRset,
// unless the port has no name.
type PortSet struct {
	name, protocol string
	hosts          tree[Endpoint]
	records        int // distinct SRV records
}

// suffix is a name that exists because endpoints lie below it: a cluster ID,
// or the end of one of several labels.
type suffix struct {
	name  string
	count int // of endpoints
}

var byPort = &order[PortSet]{
	hash: func(p *PortSet) uint32 { return Hash(p.protocol) },
	cmp: func(a, b *PortSet) int {
		return cmpOr(strings.Compare(a.protocol, b.protocol), strings.Compare(a.name, b.name))
	},
	marks: func(*PortSet) uint8 { return 0 },
}

var bySuffix = &order[suffix]{
	hash:  func(s *suffix) uint32 { return Hash(s.name) },
	cmp:   func(a, b *suffix) int { return strings.Compare(a.name, b.name) },
	marks: func(*suffix) uint8 { return 0 },
}

// port returns the set of a port, or nil.
func (r *Roster) port(name, protocol string) *PortSet {
	return r.ports.find(Hash(protocol), func(p *PortSet) int {
		return cmpOr(strings.Compare(p.protocol, protocol), strings.Compare(p.name, name))
	})
}

// protocol reports whether there is a named port of that protocol.
func (r *Roster) protocol(protocol string) bool {
	var c cursor[PortSet]
	c.seek(r.ports, Hash(protocol), func(p *PortSet) int {
		if d := strings.Compare(p.protocol, protocol); d != 0 {
			return d
		}
		if p.name == "" {
			return -1
		}
		return 0
	})
	p := c.peek()
	return p != nil && p.protocol == protocol && p.name != ""
}

func (r *Roster) suffix(name string) *suffix {
	return r.clusters.find(Hash(name), func(s *suffix) int { return strings.Compare(s.name, name) })
}

// rosterOf builds a roster from scratch. It takes es.
func rosterOf(es []*Endpoint) *Roster {
	r := &Roster{}
	es = sorted(byHost, es)
	r.hosts = treeOf(byHost, es)
	below := make(map[string]int)
	sets := make(map[Port][]*Endpoint)
	for _, e := range es {
		if !e.Named() {
			continue
		}
		below[e.origin.Cluster]++
		for _, p := range e.origin.Ports {
			key := Port{p.Name, p.Protocol, 0}
			if s := sets[key]; len(s) == 0 || s[len(s)-1] != e {
				sets[key] = append(s, e)
			}
		}
	}
	r.addSuffixes(below)
	var ports []*PortSet
	for key, es := range sets {
		es = sorted(byOrigin, es)
		p := &PortSet{name: key.Name, protocol: key.Protocol, hosts: treeOf(byOrigin, es)}
		p.records = countRecords(es, p.numbers)
		ports = append(ports, p)
	}
	r.ports = treeOf(byPort, sorted(byPort, ports))
	r.srv = countRecords(es, func(o *Origin) []Port { return o.Ports })
	es = sorted(byAddr, es)
	r.addrs = treeOf(byAddr, es)
	for i, e := range es {
		if i == 0 || es[i-1].addr != e.addr {
			r.count(e, 1)
		}
	}
	return r
}

func (r *Roster) count(e *Endpoint, n int) {
	if e.Is4() {
		r.v4 += n
	} else {
		r.v6 += n
	}
}

// numbers returns the numbers under which endpoints of that origin have p.
func (p *PortSet) numbers(o *Origin) []Port {
	i, _ := slices.BinarySearchFunc(o.Ports, p, func(q Port, p *PortSet) int {
		return cmpOr(strings.Compare(q.Name, p.name), strings.Compare(q.Protocol, p.protocol))
	})
	j := i
	for j < len(o.Ports) && o.Ports[j].Name == p.name && o.Ports[j].Protocol == p.protocol {
		j++
	}
	return o.Ports[i:j]
}

// countRecords counts the distinct (name, port number) of es, in which the
// endpoints of one name stand together.
func countRecords(es []*Endpoint, numbers func(*Origin) []Port) int {
	n := 0
	var seen []uint16
	var last *Endpoint
	for _, e := range es {
		if !e.Named() {
			continue
		}
		if last == nil || last.compareHost(e) != 0 {
			seen = seen[:0]
		} else if last.origin == e.origin {
			continue
		}
		last = e
		before := len(seen)
		seen = appendNumbers(seen, numbers(e.origin))
		n += len(seen) - before
	}
	return n
}

// change returns the roster without the removed endpoints and with the added.
// Each list is of one origin. The cost follows their length, and the logarithm
// of the roster's.
func (r *Roster) change(removed, added []*Endpoint) *Roster {
	next := *r
	below := make(map[string]int)
	for _, e := range removed {
		next.hosts, _ = next.hosts.without(byHost, e)
		next.addrs, _ = next.addrs.without(byAddr, e)
		if !hasAddr(next.addrs, e) {
			next.count(e, -1)
		}
		if e.Named() {
			below[e.origin.Cluster]--
		}
	}
	for _, e := range added {
		if !hasAddr(next.addrs, e) {
			next.count(e, 1)
		}
		next.hosts = next.hosts.with(byHost, e)
		next.addrs = next.addrs.with(byAddr, e)
		if e.Named() {
			below[e.origin.Cluster]++
		}
	}
	next.addSuffixes(below)
	next.changePorts(removed, (*PortSet).remove)
	next.changePorts(added, (*PortSet).add)
	var buf [8]uint16
	for _, e := range distinctHosts(removed, added) {
		next.srv += len(next.numbers(e, buf[:0])) - len(r.numbers(e, buf[:0]))
	}
	return &next
}

// distinctHosts returns one endpoint for each name in the lists.
func distinctHosts(lists ...[]*Endpoint) []*Endpoint {
	es := slices.DeleteFunc(slices.Concat(lists...), func(e *Endpoint) bool { return !e.Named() })
	return slices.CompactFunc(sorted(byHost, es), func(a, b *Endpoint) bool { return a.compareHost(b) == 0 })
}

// numbers appends the distinct port numbers under which e's name has SRV
// records at the service's own name. Where many endpoints bear that name, it
// asks the port sets rather than each endpoint.
func (r *Roster) numbers(e *Endpoint, ns []uint16) []uint16 {
	const few = 8
	var c cursor[Endpoint]
	h := e.hostHash()
	c.seek(r.hosts, h, func(x *Endpoint) int { return x.compareHost(e) })
	for range few {
		x := c.peek()
		if x == nil || c.hash() != h || x.compareHost(e) != 0 {
			return ns
		}
		ns = appendNumbers(ns, x.origin.Ports)
		c.next(0)
	}
	for p := range r.ports.all {
		ns = p.appendNumbers(e, ns)
	}
	return ns
}

// appendNumbers appends the distinct numbers under which e's name has the port.
func (p *PortSet) appendNumbers(e *Endpoint, ns []uint16) []uint16 {
	h := e.hostHash()
	var c cursor[Endpoint]
	c.seek(p.hosts, h, func(x *Endpoint) int { return x.compareHost(e) })
	for x := c.peek(); x != nil && c.hash() == h && x.compareHost(e) == 0; x = c.peek() {
		ns = appendNumbers(ns, p.numbers(x.origin))
		passOrigin(&c, p.hosts)
	}
	return ns
}

func appendNumbers(ns []uint16, ports []Port) []uint16 {
	for _, p := range ports {
		if !slices.Contains(ns, p.Number) {
			ns = append(ns, p.Number)
		}
	}
	return ns
}

func hasAddr(t tree[Endpoint], e *Endpoint) bool {
	return t.find(e.addrHash(), func(x *Endpoint) int { return bytes.Compare(x.addr[:], e.addr[:]) }) != nil
}

// missing counts the numbers of e's port that no endpoint of its name in the
// set has.
func (p *PortSet) missing(e *Endpoint) int {
	var buf [8]uint16
	have := p.appendNumbers(e, buf[:0])
	return len(appendNumbers(have, p.numbers(e.origin))) - len(have)
}

// passOrigin moves a cursor in a tree by origin from an endpoint past all of
// the same name and origin: by a step or two where that is enough, else by a
// search, so that thousands of endpoints under one name cost no more than a few.
func passOrigin(c *cursor[Endpoint], t tree[Endpoint]) {
	x, h := c.peek(), c.hash()
	for range 2 {
		c.next(0)
		if y := c.peek(); y == nil || y.origin != x.origin || y.compareHost(x) != 0 {
			return
		}
	}
	c.seek(t, h, func(y *Endpoint) int {
		if d := cmpOr(y.compareHost(x), y.compareOrigin(x)); d != 0 {
			return d
		}
		return -1
	})
}

// addSuffixes adds to the counts of the names above endpoints, by cluster ID.
func (r *Roster) addSuffixes(below map[string]int) {
	for cluster, n := range below {
		for name := cluster; n != 0; {
			s := suffix{name, n}
			if old := r.suffix(name); old != nil {
				s.count += old.count
				r.clusters, _ = r.clusters.without(bySuffix, old)
			}
			if s.count > 0 {
				r.clusters = r.clusters.with(bySuffix, &s)
			}
			_, rest, more := strings.Cut(name, ".")
			if !more {
				break
			}
			name = rest
		}
	}
}

// changePorts applies op to the set of each port of es, which are of one origin.
func (r *Roster) changePorts(es []*Endpoint, op func(*PortSet, *Endpoint)) {
	if len(es) == 0 {
		return
	}
	var last Port
	for i, p := range es[0].origin.Ports {
		if i > 0 && last.Name == p.Name && last.Protocol == p.Protocol {
			continue // one port under two numbers is one set
		}
		last = p
		set := PortSet{name: p.Name, protocol: p.Protocol}
		old := r.port(p.Name, p.Protocol)
		if old != nil {
			set = *old
		}
		for _, e := range es {
			if e.Named() {
				op(&set, e)
			}
		}
		if old != nil {
			r.ports, _ = r.ports.without(byPort, old)
		}
		if set.hosts.n > 0 {
			r.ports = r.ports.with(byPort, &set)
		}
	}
}

func (p *PortSet) add(e *Endpoint) {
	p.records += p.missing(e)
	p.hosts = p.hosts.with(byOrigin, e)
}

func (p *PortSet) remove(e *Endpoint) {
	p.hosts, _ = p.hosts.without(byOrigin, e)
	p.records -= p.missing(e)
}
