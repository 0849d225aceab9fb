package indexer

import "maps"

// Event is what happened to an object, or to all of a kind.
type Event int

// The events.
const (
	Added Event = iota
	Updated
	Deleted
	Replaced
)

// String returns the event's name.
func (e Event) String() string { return [...]string{"add", "update", "delete", "replace"}[e] }

// Stats counts what an index holds and has been told.
type Stats struct {
	Imports   [2]int            // by Kind
	Endpoints map[string][2]int // by cluster ID: those that count, and those that do not
	LeftOut   map[Reason]int    // now
	Events    [3][4]uint64      // imports, slices, namespaces; by Event
}

func newStats() Stats {
	return Stats{Endpoints: make(map[string][2]int), LeftOut: make(map[Reason]int)}
}

// Stats returns a copy of the counts. It waits for a writer at work.
func (x *Index) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.stats
	s.Endpoints, s.LeftOut = maps.Clone(s.Endpoints), maps.Clone(s.LeftOut)
	return s
}

func (s *Stats) imported(i *Import, n int) {
	if i != nil && i.served {
		s.Imports[i.kind] += n
	}
}

func (s *Stats) counted(sl *Slice, n int) {
	if sl == nil {
		return
	}
	c := s.Endpoints[sl.origin.Cluster]
	c[0] += n * sl.ready
	c[1] += n * sl.unready
	if c == [2]int{} {
		delete(s.Endpoints, sl.origin.Cluster)
		return
	}
	s.Endpoints[sl.origin.Cluster] = c
}

// left is what was last left out of an object.
type left struct {
	generation int64
	problems   []Problem
}

// report counts what is left out of an object, and tells of it once for each
// generation.
func (x *Index) report(kind string, o *object) {
	key := kind + "/" + o.id
	was, known := x.leftOut[key]
	if !known && len(o.problems) == 0 {
		return
	}
	x.countLeft(was.problems, -1)
	x.countLeft(o.problems, 1)
	if len(o.problems) == 0 {
		delete(x.leftOut, key)
		return
	}
	x.leftOut[key] = left{o.generation, o.problems}
	for _, p := range o.problems {
		if x.options.Report != nil && !(known && was.generation == o.generation && told(was.problems, p)) {
			x.options.Report(kind, o.id, p)
		}
	}
}

func told(ps []Problem, p Problem) bool {
	for _, q := range ps {
		if q == p {
			return true
		}
	}
	return false
}

func (x *Index) forget(kind string, o *object) {
	key := kind + "/" + o.id
	x.countLeft(x.leftOut[key].problems, -1)
	delete(x.leftOut, key)
}

func (x *Index) countLeft(ps []Problem, n int) {
	for _, p := range ps {
		if x.stats.LeftOut[p.Reason] += n * p.Count; x.stats.LeftOut[p.Reason] == 0 {
			delete(x.stats.LeftOut, p.Reason)
		}
	}
}
