package indexer

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Store is the writer's side of an index for one kind of object. Its methods
// are those of client-go's cache.ReflectorStore; they take what Transform
// returns.
type Store struct {
	x    *Index
	kind int
	put  func(tx *change, obj any) error
	drop func(tx *change, obj any) error
	swap func(objs []any) error
}

// Imports returns the store of ServiceImports.
func (x *Index) Imports() Store {
	return Store{x, importsRead, x.putImport, x.dropImport, x.swapImports}
}

// Slices returns the store of EndpointSlices.
func (x *Index) Slices() Store {
	return Store{x, slicesRead, x.putSlice, x.dropSlice, x.swapSlices}
}

// Namespaces returns the store of Namespaces.
func (x *Index) Namespaces() Store {
	return Store{x, namespacesRead, x.putNamespace, x.dropNamespace, x.swapNamespaces}
}

// Transform is the index's.
func (s Store) Transform(obj any) (any, error) { return s.x.Transform(obj) }

// Add puts an object that is new.
func (s Store) Add(obj any) error { return s.event(Added, obj, s.put) }

// Update puts an object that has changed.
func (s Store) Update(obj any) error { return s.event(Updated, obj, s.put) }

// Delete drops an object; that it is not there is no error.
func (s Store) Delete(obj any) error { return s.event(Deleted, obj, s.drop) }

// Replace puts the objects of a complete read and drops all others, in one
// step for the reader.
func (s Store) Replace(objs []any, _ string) error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.x.stats.Events[s.kind][Replaced]++
	if err := s.swap(objs); err != nil {
		return err
	}
	if !s.x.read[s.kind] {
		s.x.read[s.kind] = true
		if s.x.synced() {
			s.x.first()
		}
	}
	return nil
}

// Resync does nothing: there is nobody further on to be told again.
func (s Store) Resync() error { return nil }

func (s Store) event(op Event, obj any, apply func(*change, any) error) error {
	s.x.mu.Lock()
	defer s.x.mu.Unlock()
	s.x.stats.Events[s.kind][op]++
	tx := s.x.begin()
	if err := apply(tx, obj); err != nil {
		return err
	}
	tx.publish()
	return nil
}

func wrongType(want string, obj any) error {
	return fmt.Errorf("want a compact %s, got %T", want, obj)
}

func (x *Index) putImport(tx *change, obj any) error {
	i, ok := obj.(*Import)
	if !ok {
		return wrongType("ServiceImport", obj)
	}
	x.report("ServiceImport", &i.object)
	e := x.entry(i.key())
	x.stats.imported(e.imp, -1)
	x.stats.imported(i, 1)
	same := e.imp != nil && sameAnswers(e.imp, i)
	e.imp = i
	if x.synced() && !same {
		tx.set(e, e.reimport(&x.options))
	}
	return nil
}

func (x *Index) dropImport(tx *change, obj any) error {
	i, ok := obj.(*Import)
	if !ok {
		return wrongType("ServiceImport", obj)
	}
	x.forget("ServiceImport", &i.object)
	e := x.services[i.key()]
	if e == nil || e.imp == nil || e.imp.id != i.id {
		return nil
	}
	x.stats.imported(e.imp, -1)
	e.imp = nil
	tx.set(e, nil)
	x.tidy(e)
	return nil
}

func (x *Index) swapImports(objs []any) error {
	tx := x.begin()
	kept := make(map[string]bool, len(objs))
	for _, obj := range objs {
		if err := x.putImport(tx, obj); err != nil {
			return err
		}
		kept[obj.(*Import).key()] = true
	}
	for key, e := range x.services {
		if e.imp != nil && !kept[key] {
			if err := x.dropImport(tx, e.imp); err != nil {
				return err
			}
		}
	}
	tx.publish()
	return nil
}

func (x *Index) tidy(e *entry) {
	if e.empty() {
		delete(x.services, e.key)
	}
}

func (x *Index) putSlice(tx *change, obj any) error {
	s, ok := obj.(*Slice)
	if !ok {
		return wrongType("EndpointSlice", obj)
	}
	x.report("EndpointSlice", &s.object)
	was := x.slices[s.id]
	x.slices[s.id] = s
	x.stats.counted(was, -1)
	x.stats.counted(s, 1)
	e := x.entry(s.service)
	if was != nil && was.service != s.service {
		x.leave(tx, was)
		was = nil
	}
	e.replace(was, s)
	if x.synced() {
		tx.set(e, e.rebuild(&x.options, was, s))
		x.time(tx, e, was, s)
	}
	return nil
}

// leave takes a slice from the service it belonged to.
func (x *Index) leave(tx *change, s *Slice) {
	e := x.services[s.service]
	e.replace(s, nil)
	if x.synced() {
		tx.set(e, e.rebuild(&x.options, s, nil))
	}
	x.tidy(e)
}

func (x *Index) dropSlice(tx *change, obj any) error {
	s, ok := obj.(*Slice)
	if !ok {
		return wrongType("EndpointSlice", obj)
	}
	x.forget("EndpointSlice", &s.object)
	was := x.slices[s.id]
	if was == nil {
		return nil
	}
	delete(x.slices, s.id)
	x.stats.counted(was, -1)
	x.leave(tx, was)
	return nil
}

// swapSlices compares with what is there, so that a read of everything after a
// broken watch costs little more than the comparison, and touches each service
// that did change once.
func (x *Index) swapSlices(objs []any) error {
	tx := x.begin()
	kept := make(map[string]bool, len(objs))
	dirty := make(map[*entry]bool)
	for _, obj := range objs {
		s, ok := obj.(*Slice)
		if !ok {
			return wrongType("EndpointSlice", obj)
		}
		x.report("EndpointSlice", &s.object)
		key := s.id
		kept[key] = true
		was := x.slices[key]
		x.slices[key] = s
		x.stats.counted(was, -1)
		x.stats.counted(s, 1)
		e := x.entry(s.service)
		if was != nil && was.service != s.service {
			old := x.services[was.service]
			old.replace(was, nil)
			dirty[old] = true
			was = nil
		}
		e.replace(was, s)
		if was == nil || was.packed != s.packed || was.origin.key != s.origin.key || was.v6 != s.v6 || was.ready != s.ready {
			dirty[e] = true
		}
	}
	for key, s := range x.slices {
		if !kept[key] {
			x.forget("EndpointSlice", &s.object)
			delete(x.slices, key)
			x.stats.counted(s, -1)
			e := x.services[s.service]
			e.replace(s, nil)
			dirty[e] = true
		}
	}
	for e := range dirty {
		if x.synced() {
			tx.set(e, e.build(&x.options))
		}
		x.tidy(e)
	}
	tx.publish()
	return nil
}

func (e *entry) replace(was, is *Slice) {
	if was != nil {
		e.ready -= was.ready
		i := slices.Index(e.slices, was)
		if is != nil {
			e.slices[i] = is
		} else {
			e.slices = slices.Delete(e.slices, i, i+1)
		}
	} else if is != nil {
		e.slices = append(e.slices, is)
	}
	if is != nil {
		e.ready += is.ready
	}
}

// time tells how long a change of endpoints took until now, when it can be
// asked for.
func (x *Index) time(tx *change, e *entry, was, is *Slice) {
	if x.options.Latency == nil || is.changed == 0 || was != nil && was.changed == is.changed || e.service == nil {
		return
	}
	tx.publish()
	x.options.Latency(e.imp.kind, is.origin.Cluster, x.options.Now().Sub(time.Unix(0, is.changed)))
}

func (x *Index) putNamespace(tx *change, obj any) error {
	n, ok := obj.(*Namespace)
	if !ok {
		return wrongType("Namespace", obj)
	}
	old := x.namespaces[n.name()]
	x.namespaces[n.name()] = n
	if old == nil || !sameLabels(old.labels, n.labels) {
		x.relabelled(tx, n.name())
	}
	return nil
}

func (x *Index) dropNamespace(tx *change, obj any) error {
	n, ok := obj.(*Namespace)
	if !ok {
		return wrongType("Namespace", obj)
	}
	delete(x.namespaces, n.name())
	x.relabelled(tx, n.name())
	return nil
}

func (x *Index) swapNamespaces(objs []any) error {
	tx := x.begin()
	clear(x.namespaces)
	for _, obj := range objs {
		n, ok := obj.(*Namespace)
		if !ok {
			return wrongType("Namespace", obj)
		}
		x.namespaces[n.name()] = n
	}
	x.relabelled(tx, "")
	tx.publish()
	return nil
}

// relabelled shows the services of a namespace, "" for all, to the lenses as
// they are now. It looks at every service: labels of namespaces change seldom.
func (x *Index) relabelled(tx *change, namespace string) {
	if !x.synced() {
		return
	}
	for key, e := range x.services {
		if e.service != nil && (namespace == "" || namespaceOf(key) == namespace) {
			tx.set(e, e.service)
		}
	}
}

func namespaceOf(key string) string { return key[strings.IndexByte(key, '.')+1:] }
