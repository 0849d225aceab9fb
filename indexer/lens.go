package indexer

import (
	"errors"
	"math/bits"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// A Filter is what one stanza shows of an index.
type Filter struct {
	Namespaces      []string        // in lower case; nil: all
	NamespaceLabels labels.Selector // nil: all
	Labels          labels.Selector // of imports; nil: all
	IgnoreEmpty     bool            // hide ClusterSetIP services with no endpoint that counts
	NoEndpoints     bool            // hide Headless services
	PodNames        bool            // a pod's name stands for a hostname that is not set
}

const (
	byHostname = 0
	byPodName  = 1
)

func (f *Filter) naming() int {
	if f.PodNames {
		return byPodName
	}
	return byHostname
}

func (f *Filter) id() string {
	var b strings.Builder
	for _, s := range []labels.Selector{f.NamespaceLabels, f.Labels} {
		if s != nil {
			b.WriteString(s.String())
		}
		b.WriteByte('|')
	}
	for _, on := range []bool{f.IgnoreEmpty, f.NoEndpoints, f.PodNames} {
		b.WriteByte("ny"[bits.Len8(boolByte(on))])
	}
	sorted := slices.Sorted(slices.Values(f.Namespaces))
	return b.String() + strings.Join(slices.Compact(sorted), ",")
}

func boolByte(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// A Lens is a Filter that an index applies as objects arrive, so that a query
// tests one bit. Lenses of equal filters are one.
type Lens struct {
	filter Filter
	id     string
	bit    int
	users  int // guarded by the index's mutex
}

// shows reports whether the lens shows the service.
func (l *Lens) shows(s *Service) bool { return s.visible&(1<<l.bit) != 0 }

// ErrLenses says that an index has no bit left for a filter.
var ErrLenses = errors.New("more than 64 different filters over one source")

// Lens returns the lens of a filter, for one user more. It costs a look at
// every service when the filter is new.
func (x *Index) Lens(f Filter) (*Lens, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	id, free := f.id(), -1
	for bit, l := range x.lenses {
		if l == nil && free < 0 {
			free = bit
		}
		if l != nil && l.id == id {
			l.users++
			return l, nil
		}
	}
	if free < 0 {
		return nil, ErrLenses
	}
	l := &Lens{filter: f, id: id, bit: free, users: 1}
	x.lenses[free] = l
	x.refilter()
	return l, nil
}

// Close gives the lens back for one user.
func (x *Index) Close(l *Lens) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if l.users--; l.users > 0 || x.lenses[l.bit] != l {
		return
	}
	x.lenses[l.bit] = nil
	x.refilter()
}

// refilter shows every service to the lenses as they are now.
func (x *Index) refilter() {
	if !x.synced() {
		return
	}
	tx := x.begin()
	for _, e := range x.services {
		tx.set(e, e.service)
	}
	tx.publish()
}

// look returns the lenses that show a service.
func (x *Index) look(s *Service) (visible uint64) {
	for bit, l := range x.lenses {
		if l != nil && x.passes(&l.filter, s) && s.exists(&l.filter) {
			visible |= 1 << bit
		}
	}
	return visible
}

func (x *Index) passes(f *Filter, s *Service) bool {
	if f.Namespaces != nil && !slices.Contains(f.Namespaces, s.namespace()) {
		return false
	}
	if f.Labels != nil && !f.Labels.Matches(labels.Set(s.imp.labels)) {
		return false
	}
	if f.NamespaceLabels != nil {
		ns, ok := x.namespaces[s.namespace()]
		return ok && f.NamespaceLabels.Matches(labels.Set(ns.labels))
	}
	return true
}
