// Package indexer turns watch events into immutable views of services, so that
// a DNS query is one look-up and never meets a list to scan, a lock to wait
// for, or half of an update.
//
// The writer's side is an Index: three stores, one for each kind of object,
// filled by reflectors. An object arrives in its compact form, is put under
// the key of its service, and yields a new view of that service alone, which
// shares with the old one whatever did not change. The reader's side is a
// Snapshot, published through one atomic pointer: whoever takes one can answer
// any number of questions from it, all from the same state.
//
//	event -> Transform -> entry of its service -> Service' -> Snapshot' -> published
//	query -> Snapshot -> Service -> cursor over what the answer needs
//
// Everything that is shared is a tree with copied paths (see tree), so the
// cost of an event follows the slice that changed, not the size of the service
// or of the clusterset.
package indexer

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options say what an index keeps. They are fixed for its life.
type Options struct {
	// NameLength is the room that the longest zone leaves for the names below
	// "svc.": 253 octets less its own, "svc" and the dots. Longer names are
	// left out, since no message can carry them.
	NameLength int
	// Hostnames and PodNames are the ways of naming endpoints that are in use.
	Hostnames, PodNames bool
	// Labels keeps the labels of imports, for filters.
	Labels bool
	// Slices and Namespaces say which kinds are read beside imports; a kind
	// that is not read is not waited for.
	Slices, Namespaces bool
	// Report is told what of an object, named as namespace/name, is left out,
	// once for each generation of the object. It is called with the index locked: it must not block,
	// nor call the index.
	Report func(kind, name string, p Problem)
	// Latency is told how long a change of endpoints took from
	// endpoints.kubernetes.io/last-change-trigger-time until it could be
	// asked for. Not called for what was there before the first read.
	Latency func(kind Kind, cluster string, d time.Duration)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

func (o *Options) namings() [2]bool { return [2]bool{byHostname: o.Hostnames, byPodName: o.PodNames} }

// room is what a name has for labels left of a service's key.
func (o *Options) room(key string) int { return o.NameLength - len(key) }

// Index is the state behind a set of stanzas. Its methods may be called from
// any goroutine; writers wait for each other, readers for nobody.
type Index struct {
	options Options
	origins origins
	state   atomic.Pointer[Snapshot]

	mu         sync.Mutex
	services   map[string]*entry     // by service key
	slices     map[string]*Slice     // by namespace/name
	namespaces map[string]*Namespace // by name
	read       [3]bool               // kinds that were read completely once
	lenses     [64]*Lens
	stats      Stats
	leftOut    map[string]left
}

// New returns an empty index, not synced.
func New(o Options) *Index {
	if o.Now == nil {
		o.Now = time.Now
	}
	x := &Index{
		options:    o,
		services:   make(map[string]*entry),
		slices:     make(map[string]*Slice),
		namespaces: make(map[string]*Namespace),
		read:       [3]bool{slicesRead: !o.Slices, namespacesRead: !o.Namespaces},
		leftOut:    make(map[string]left),
	}
	x.stats = newStats()
	x.state.Store(&Snapshot{total: &space{}})
	return x
}

const (
	importsRead = iota
	slicesRead
	namespacesRead
)

// Snapshot returns the newest state. It costs one load.
func (x *Index) Snapshot() *Snapshot { return x.state.Load() }

func (x *Index) synced() bool { return x.read == [3]bool{true, true, true} }

// entry returns the entry of a service key, made if need be.
func (x *Index) entry(key string) *entry {
	e := x.services[key]
	if e == nil {
		e = &entry{key: key}
		x.services[key] = e
	}
	return e
}

// first builds everything, when the last kind has been read for the first time.
func (x *Index) first() {
	tx := x.begin()
	var shown []*Service
	spaces := make(map[string]*space)
	for _, e := range x.services {
		s := e.build(&x.options)
		e.service = s
		if s == nil {
			continue
		}
		if s.visible = x.look(s); s.visible == 0 {
			continue
		}
		shown = append(shown, s)
		ns := s.namespace()
		if spaces[ns] == nil {
			spaces[ns] = &space{name: ns}
		}
		spaces[ns] = spaces[ns].changed(0, s.visible)
		tx.next.total = tx.next.total.changed(0, s.visible)
	}
	tx.next.services = treeOf(byKey, sorted(byKey, shown))
	tx.next.namespaces = treeOf(bySpace, sorted(bySpace, slices.Collect(maps.Values(spaces))))
	tx.next.synced, tx.dirty = true, true
	tx.publish()
}

// change is a set of new views on the way to be one new snapshot. The index is
// locked from begin to publish.
type change struct {
	x     *Index
	next  Snapshot
	dirty bool
}

func (x *Index) begin() *change { return &change{x: x, next: *x.state.Load()} }

// set gives an entry the view s, which may be nil, or the one it has.
func (tx *change) set(e *entry, s *Service) {
	old := e.service
	var was, is uint64
	if old != nil {
		was = old.visible
	}
	if s != nil {
		if is = tx.x.look(s); s == old && is != was {
			moved := *s
			s = &moved
		}
		if s != old {
			s.visible = is
		}
	}
	e.service = s
	if s == old || was|is == 0 {
		return
	}
	tx.dirty = true
	if was != 0 {
		tx.next.services, _ = tx.next.services.without(byKey, old)
	}
	if is != 0 {
		tx.next.services = tx.next.services.with(byKey, s)
	}
	if was != is {
		tx.count(e.key, was, is)
	}
}

func (tx *change) count(key string, was, is uint64) {
	name := namespaceOf(key)
	ns := tx.next.namespaces.find(Hash(name), func(x *space) int { return strings.Compare(x.name, name) })
	if ns == nil {
		ns = &space{name: name}
	} else {
		tx.next.namespaces, _ = tx.next.namespaces.without(bySpace, ns)
	}
	if ns = ns.changed(was, is); !ns.empty() {
		tx.next.namespaces = tx.next.namespaces.with(bySpace, ns)
	}
	tx.next.total = tx.next.total.changed(was, is)
}

// publish makes the change visible, all at once, if there is one.
func (tx *change) publish() bool {
	if !tx.dirty {
		return false
	}
	now := uint32(tx.x.options.Now().UnixMilli())
	if int32(now-tx.next.serial) <= 0 && tx.next.generation > 0 {
		now = tx.next.serial + 1
	}
	tx.next.serial = now
	tx.next.generation++
	published := tx.next
	tx.x.state.Store(&published)
	tx.dirty = false
	return true
}
