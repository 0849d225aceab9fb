package indexer

import (
	"bytes"
	"net/netip"
	"strings"
)

// Endpoint is one address of an endpoint that counts. It is immutable, and 32
// octets: there may be a million of it.
type Endpoint struct {
	addr   [16]byte // IPv4 as ::ffff:0:0/96
	origin *Origin
	label  *string // nil: the address form; &nameless: none
}

var nameless string

// Addr returns the address.
func (e *Endpoint) Addr() netip.Addr { return netip.AddrFrom16(e.addr).Unmap() }

// Is4 reports whether the address is of IPv4.
func (e *Endpoint) Is4() bool { return e.marks()&MarkIPv4 != 0 }

// As16 returns the address, of IPv4 as ::ffff:0:0/96.
func (e *Endpoint) As16() [16]byte { return e.addr }

// Cluster returns the cluster ID, in lower case.
func (e *Endpoint) Cluster() string { return e.origin.Cluster }

// Ports returns the ports of the endpoint's slice, which nobody may change.
func (e *Endpoint) Ports() []Port { return e.origin.Ports }

// Named reports whether the endpoint has a name of its own.
func (e *Endpoint) Named() bool { return e.origin.Cluster != "" && e.label != &nameless }

// AppendHost appends the hostname and the cluster ID, with a dot between.
func (e *Endpoint) AppendHost(b []byte) []byte {
	b = append(e.appendLabel(b), '.')
	return append(b, e.origin.Cluster...)
}

func (e *Endpoint) appendLabel(b []byte) []byte {
	if e.label != nil && e.label != &nameless {
		return append(b, *e.label...)
	}
	return appendAddressLabel(b, e.Addr())
}

// Marks of an endpoint, by which a walk passes over what it does not want.
const (
	MarkIPv4 uint8 = 1 << iota
	MarkIPv6
	MarkNamed
)

var mapped = [12]byte{10: 0xff, 11: 0xff}

func (e *Endpoint) marks() uint8 {
	m := MarkIPv6
	if [12]byte(e.addr[:12]) == mapped {
		m = MarkIPv4
	}
	if e.Named() {
		m |= MarkNamed
	}
	return m
}

// byHost orders the endpoints of a service by their name, so that those of one
// name stand together, and among these by a hash of the address, so that a
// walk may start anywhere among many of one name and meets equal addresses
// side by side. Endpoints without a name stand where their address form would.
var byHost = &order[Endpoint]{
	hash: (*Endpoint).hostHash,
	cmp: func(a, b *Endpoint) int {
		if c := a.compareHost(b); c != 0 {
			return c
		}
		return byAddr.compare(a, b)
	},
	marks: (*Endpoint).marks,
}

// byOrigin orders them by name, then by origin: endpoints that yield one SRV
// record stand together.
var byOrigin = &order[Endpoint]{
	hash: (*Endpoint).hostHash,
	cmp: func(a, b *Endpoint) int {
		if c := a.compareHost(b); c != 0 {
			return c
		}
		if c := a.compareOrigin(b); c != 0 {
			return c
		}
		return byAddr.compare(a, b)
	},
	marks: (*Endpoint).marks,
}

// byAddr orders them by address: equal ones stand together.
var byAddr = &order[Endpoint]{
	hash: (*Endpoint).addrHash,
	cmp: func(a, b *Endpoint) int {
		if c := bytes.Compare(a.addr[:], b.addr[:]); c != 0 {
			return c
		}
		if c := a.compareHost(b); c != 0 {
			return c
		}
		return a.compareOrigin(b)
	},
	marks: (*Endpoint).marks,
}

func (e *Endpoint) hostHash() uint32 {
	var buf [64]byte
	return HostHash(e.appendLabel(buf[:0]), e.origin.Cluster)
}

// HostHash places the name of an endpoint on the ring.
func HostHash[S ~string | ~[]byte](label S, cluster string) uint32 {
	return mix(fnv(fnv(offset64, label), cluster))
}

func (e *Endpoint) addrHash() uint32 { return Hash(e.addr[:]) }

// compare orders by hash first, as the tree of this order does.
func (o *order[T]) compare(a, b *T) int {
	if ha, hb := o.hash(a), o.hash(b); ha != hb {
		if ha < hb {
			return -1
		}
		return 1
	}
	return o.cmp(a, b)
}

// compareHost orders by name; endpoints with and without one are different.
func (e *Endpoint) compareHost(f *Endpoint) int {
	if e.origin.Cluster == f.origin.Cluster && e.label == f.label && e.label != nil && e.label != &nameless {
		return 0
	}
	if a, b := e.Named(), f.Named(); a != b {
		if a {
			return 1
		}
		return -1
	}
	if c := strings.Compare(e.origin.Cluster, f.origin.Cluster); c != 0 {
		return c
	}
	var x, y [64]byte
	return bytes.Compare(e.appendLabel(x[:0]), f.appendLabel(y[:0]))
}

func (e *Endpoint) compareOrigin(f *Endpoint) int {
	if e.origin == f.origin {
		return 0
	}
	return strings.Compare(e.origin.key, f.origin.key)
}

// compareName orders a name that was asked for against the endpoint's.
func (e *Endpoint) compareName(label, cluster string) int {
	if !e.Named() {
		return -1
	}
	if c := strings.Compare(e.origin.Cluster, cluster); c != 0 {
		return c
	}
	var buf [64]byte
	return compareText(e.appendLabel(buf[:0]), label)
}

// compareText is strings.Compare without a copy of b.
func compareText(b []byte, s string) int {
	for i := range min(len(b), len(s)) {
		if b[i] != s[i] {
			return int(b[i]) - int(s[i])
		}
	}
	return len(b) - len(s)
}
