package indexer

import (
	"math/bits"
	"slices"
	"strings"
)

// Snapshot is one state of the whole index. It never changes: a query or a
// transfer that takes one sees nothing of what happens meanwhile.
type Snapshot struct {
	services   tree[Service]
	namespaces tree[space]
	total      *space
	synced     bool
	serial     uint32
	generation uint64
}

// space counts the services of a namespace, by the bit of the lens that shows
// them.
type space struct {
	name   string
	counts []int
}

var bySpace = &order[space]{
	hash:  func(s *space) uint32 { return Hash(s.name) },
	cmp:   func(a, b *space) int { return strings.Compare(a.name, b.name) },
	marks: func(*space) uint8 { return 0 },
}

func (s *space) shown(l *Lens) bool { return s != nil && l.bit < len(s.counts) && s.counts[l.bit] > 0 }

// changed returns the counts after a service's lenses went from was to is.
func (s *space) changed(was, is uint64) *space {
	n := &space{s.name, make([]int, max(len(s.counts), bits.Len64(is)))}
	copy(n.counts, s.counts)
	for i := range n.counts {
		n.counts[i] += int(is>>i&1) - int(was>>i&1)
	}
	return n
}

func (s *space) empty() bool {
	return !slices.ContainsFunc(s.counts, func(n int) bool { return n != 0 })
}

// Synced reports whether every kind has been read completely once. Until then
// the snapshot is empty, which means unknown.
func (s *Snapshot) Synced() bool { return s.synced }

// Serial returns the SOA serial of this state: milliseconds since 1970 at the
// last change, modulo 2^32, or one more than before where changes come faster.
// By RFC 1982 it grows with every change and over a restart, as long as the
// secondaries' copies are younger than 24 days.
func (s *Snapshot) Serial() uint32 { return s.serial }

// Generation returns how many states there were before this one.
func (s *Snapshot) Generation() uint64 { return s.generation }

// Service returns the service of key "<service>.<namespace>", in lower case,
// or nil if there is none that l shows.
func (s *Snapshot) Service(l *Lens, key string) *Service {
	svc := s.services.find(Hash(key), func(x *Service) int { return strings.Compare(x.key, key) })
	if svc == nil || !l.shows(svc) {
		return nil
	}
	return svc
}

// Namespace reports whether l shows a service in the namespace, in lower case.
func (s *Snapshot) Namespace(l *Lens, name string) bool {
	return s.namespaces.find(Hash(name), func(x *space) int { return strings.Compare(x.name, name) }).shown(l)
}

// Any reports whether l shows a service at all.
func (s *Snapshot) Any(l *Lens) bool { return s.total.shown(l) }

// Services yields all services that l shows, in no order that means anything.
func (s *Snapshot) Services(l *Lens) func(yield func(*Service) bool) {
	return func(yield func(*Service) bool) {
		for svc := range s.services.all {
			if l.shows(svc) && !yield(svc) {
				return
			}
		}
	}
}
