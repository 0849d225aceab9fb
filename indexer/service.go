package indexer

import (
	"net/netip"
	"slices"
	"strings"
)

// Service is the immutable view of one service: everything that names below it
// answer, and nothing else.
type Service struct {
	key     string // "<service>.<namespace>", in lower case
	hash    uint32
	empty   bool // no endpoint counts
	imp     *Import
	rosters [2]*Roster // by the way endpoints are named; nil if not in use or not Headless
	visible uint64     // the lenses that show it
}

var byKey = &order[Service]{
	hash:  func(s *Service) uint32 { return s.hash },
	cmp:   func(a, b *Service) int { return strings.Compare(a.key, b.key) },
	marks: func(*Service) uint8 { return 0 },
}

// Key returns "<service>.<namespace>" in lower case.
func (s *Service) Key() string { return s.key }

// Kind returns the type of the service.
func (s *Service) Kind() Kind { return s.imp.kind }

// IPs returns the clusterset IPs, which nobody may change.
func (s *Service) IPs() []netip.Addr { return s.imp.ips }

// Ports returns the ports of a ClusterSetIP service, which nobody may change,
// in order of name, protocol and number.
func (s *Service) Ports() []Port { return s.imp.ports.Ports }

func (s *Service) namespace() string { return namespaceOf(s.key) }

// exists reports whether the service has a name under a filter, apart from
// what it selects: a ClusterSetIP service always does, so that one that waits
// for its IP is NODATA; a Headless one if it has an endpoint (KEP-1645, DNS
// specification 2.4.1).
func (s *Service) exists(f *Filter) bool {
	switch {
	case s.imp.kind == Headless:
		r := s.rosters[f.naming()]
		return r != nil && r.hosts.n > 0 && !f.NoEndpoints
	case f.IgnoreEmpty:
		return !s.empty || s.imp.absent
	}
	return true
}

// entry is what the writer knows under one service key: the import, if it is
// there, and the slices, which may come first and outlive it.
type entry struct {
	key     string
	imp     *Import
	slices  []*Slice
	ready   int      // endpoints of all slices that count
	service *Service // nil while there is no import that can be served
}

func (e *entry) empty() bool { return e.imp == nil && len(e.slices) == 0 }

// build makes the view, with the endpoints from scratch.
func (e *entry) build(o *Options) *Service {
	if e.imp == nil || !e.imp.served {
		return nil
	}
	s := &Service{key: e.key, hash: Hash(e.key), imp: e.imp, empty: e.ready == 0}
	if e.imp.kind != Headless {
		return s
	}
	for naming, used := range o.namings() {
		if !used {
			continue
		}
		var es []*Endpoint
		for _, sl := range e.slices {
			for p := range sl.entries {
				es = append(es, sl.endpoint(p, naming == byPodName, o.room(e.key)))
			}
		}
		s.rosters[naming] = rosterOf(es)
	}
	return s
}

// reimport makes the view that follows from a change of the import alone.
func (e *entry) reimport(o *Options) *Service {
	if e.service == nil || !e.imp.served || e.imp.kind != e.service.imp.kind {
		return e.build(o)
	}
	s := *e.service
	s.imp = e.imp
	return &s
}

// rebuild makes the view that follows from one slice's change, either of which
// may be nil. It returns the old view if no answer changes.
func (e *entry) rebuild(o *Options, was, is *Slice) *Service {
	if e.service == nil {
		return nil
	}
	s := *e.service
	s.empty = e.ready == 0
	if s.imp.kind != Headless {
		if s.empty == e.service.empty {
			return e.service
		}
		return &s
	}
	gone, come := diff(was, is)
	if len(gone)+len(come) == 0 {
		return e.service
	}
	for naming, used := range o.namings() {
		if used {
			room := o.room(e.key)
			s.rosters[naming] = s.rosters[naming].change(was.unpack(gone, naming, room), is.unpack(come, naming, room))
		}
	}
	return &s
}

func (s *Slice) unpack(entries []string, naming, room int) []*Endpoint {
	es := make([]*Endpoint, len(entries))
	for i, p := range entries {
		es[i] = s.endpoint(p, naming == byPodName, room)
	}
	return es
}

// diff returns the entries that only one of two slices has. Controllers append
// and take out, so most slices agree at both ends; what is between is compared
// as multisets.
func diff(was, is *Slice) (gone, come []string) {
	if was != nil {
		gone = slices.Collect(was.entries)
	}
	if is != nil {
		come = slices.Collect(is.entries)
	}
	if was == nil || is == nil || was.origin.key != is.origin.key || was.v6 != is.v6 {
		return gone, come
	}
	for len(gone) > 0 && len(come) > 0 && gone[0] == come[0] {
		gone, come = gone[1:], come[1:]
	}
	for len(gone) > 0 && len(come) > 0 && gone[len(gone)-1] == come[len(come)-1] {
		gone, come = gone[:len(gone)-1], come[:len(come)-1]
	}
	if len(gone) == 0 || len(come) == 0 {
		return gone, come
	}
	count := make(map[string]int, len(gone))
	for _, p := range gone {
		count[p]++
	}
	come = slices.DeleteFunc(come, func(p string) bool {
		count[p]--
		return count[p] >= 0
	})
	// What is left in count above zero is gone; what is below was new.
	gone = slices.DeleteFunc(gone, func(p string) bool {
		count[p]--
		return count[p] < 0
	})
	return gone, come
}

// sameAnswers reports whether two imports yield the same records.
func sameAnswers(a, b *Import) bool {
	return a.kind == b.kind && a.served == b.served && a.absent == b.absent &&
		slices.Equal(a.ips, b.ips) && sameOrigin(a.ports, b.ports) && sameLabels(a.labels, b.labels)
}

func sameOrigin(a, b *Origin) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.key == b.key
}

func sameLabels(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}
