package indexer

import "slices"

// A tree is an immutable ordered multiset: a B+ tree whose every change copies
// the path to one leaf and shares the rest. It is ordered by a 32-bit hash of
// the item first and by the item's own order where hashes are equal, so that
// one structure gives a look-up by name, a ring to start from anywhere in, and
// a change that costs the same in a service of 10 and of 50 000 endpoints.
// Hashes stand beside the items: a search reads two or three cache lines of
// them and then one item.
//
// The zero tree is empty. Values may be read from any goroutine.
type tree[T any] struct {
	root *node[T]
	n    int
}

// node is a leaf (items) or an inner node (kids). Its slices have no spare
// capacity and never change once the node can be reached from a tree.
type node[T any] struct {
	hashes []uint32 // of each item, or of the first item below each kid
	items  []*T
	kids   []*node[T]
	marks  uint8 // of all items below, or-ed: a walk skips what it does not want
}

// fanout bounds the length of a node: at 32 a copied leaf is 400 bytes, and a
// tree of a million items is four levels deep.
const fanout = 32

// order tells a tree how to compare, and which marks an item bears.
type order[T any] struct {
	hash  func(*T) uint32
	cmp   func(a, b *T) int // among items of one hash; 0: interchangeable
	marks func(*T) uint8
}

func leaf[T any](o *order[T], hashes []uint32, items []*T) *node[T] {
	n := &node[T]{hashes: hashes, items: items}
	for _, it := range items {
		n.marks |= o.marks(it)
	}
	return n
}

func inner[T any](kids []*node[T]) *node[T] {
	n := &node[T]{hashes: make([]uint32, len(kids)), kids: kids}
	for i, k := range kids {
		n.hashes[i] = k.hashes[0]
		n.marks |= k.marks
	}
	return n
}

func (n *node[T]) first() *T {
	for n.kids != nil {
		n = n.kids[0]
	}
	return n.items[0]
}

// search returns the position of the first item not before (h, after), where
// after orders items of hash h: negative for those to be passed over. In an
// inner node it is the position of the kid to descend into.
func (n *node[T]) search(h uint32, after func(*T) int) int {
	lo, hi := 0, len(n.hashes)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		before := n.hashes[mid] < h
		if n.hashes[mid] == h && after != nil {
			if n.kids != nil {
				before = after(n.kids[mid].first()) < 0
			} else {
				before = after(n.items[mid]) < 0
			}
		}
		if before {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if n.kids != nil && lo > 0 {
		return lo - 1
	}
	return lo
}

// with returns the tree with it added.
func (t tree[T]) with(o *order[T], it *T) tree[T] {
	h := o.hash(it)
	if t.root == nil {
		return tree[T]{leaf(o, []uint32{h}, []*T{it}), 1}
	}
	l, r := t.root.insert(o, h, it)
	if r != nil {
		l = inner([]*node[T]{l, r})
	}
	return tree[T]{l, t.n + 1}
}

func (n *node[T]) insert(o *order[T], h uint32, it *T) (l, r *node[T]) {
	i := n.search(h, func(x *T) int { return o.cmp(x, it) })
	if n.kids == nil {
		return split(o, spliced(n.hashes, i, 0, h), spliced(n.items, i, 0, it))
	}
	l, r = n.kids[i].insert(o, h, it)
	if r == nil {
		return inner(spliced(n.kids, i, 1, l)), nil
	}
	return splitKids(spliced(n.kids, i, 1, l, r))
}

func split[T any](o *order[T], hashes []uint32, items []*T) (l, r *node[T]) {
	if len(items) <= fanout {
		return leaf(o, hashes, items), nil
	}
	m := len(items) / 2
	return leaf(o, exact(hashes[:m]), exact(items[:m])),
		leaf(o, exact(hashes[m:]), exact(items[m:]))
}

func splitKids[T any](kids []*node[T]) (l, r *node[T]) {
	if len(kids) <= fanout {
		return inner(kids), nil
	}
	m := len(kids) / 2
	return inner(exact(kids[:m])), inner(exact(kids[m:]))
}

// without returns the tree with one item equal to it taken out, and that item;
// nil if there is none.
func (t tree[T]) without(o *order[T], it *T) (tree[T], *T) {
	if t.root == nil {
		return t, nil
	}
	root, found := t.root.remove(o, o.hash(it), it)
	if found == nil {
		return t, nil
	}
	for root != nil && len(root.kids) == 1 {
		root = root.kids[0]
	}
	return tree[T]{root, t.n - 1}, found
}

func (n *node[T]) remove(o *order[T], h uint32, it *T) (*node[T], *T) {
	i := n.search(h, func(x *T) int { return o.cmp(x, it) })
	if n.kids == nil {
		if i == len(n.items) || n.hashes[i] != h || o.cmp(n.items[i], it) != 0 {
			return n, nil
		}
		if len(n.items) == 1 {
			return nil, n.items[i]
		}
		return leaf(o, spliced(n.hashes, i, 1), spliced(n.items, i, 1)), n.items[i]
	}
	kid, found := n.kids[i].remove(o, h, it)
	if found == nil && i+1 < len(n.kids) && n.hashes[i+1] == h {
		// The first of equal items may be the first of the next kid.
		i++
		kid, found = n.kids[i].remove(o, h, it)
	}
	switch {
	case found == nil:
		return n, nil
	case kid == nil && len(n.kids) == 1:
		return nil, found
	case kid == nil:
		return inner(spliced(n.kids, i, 1)), found
	case len(kid.hashes) >= fanout/4 || len(n.kids) == 1:
		return inner(spliced(n.kids, i, 1, kid)), found
	}
	// A thin kid is joined with a neighbour, so that the depth follows the size.
	j := max(i-1, 0)
	pair := [2]*node[T]{n.kids[j], n.kids[j+1]}
	pair[i-j] = kid
	l, r := join(o, pair[0], pair[1])
	if r == nil {
		return inner(spliced(n.kids, j, 2, l)), found
	}
	return inner(spliced(n.kids, j, 2, l, r)), found
}

func join[T any](o *order[T], a, b *node[T]) (l, r *node[T]) {
	if a.kids != nil {
		return splitKids(exact(slices.Concat(a.kids, b.kids)))
	}
	return split(o, exact(slices.Concat(a.hashes, b.hashes)), exact(slices.Concat(a.items, b.items)))
}

// spliced returns a copy of s, of exact length, in which del elements at i are
// replaced by ins.
func spliced[E any](s []E, i, del int, ins ...E) []E {
	out := make([]E, len(s)-del+len(ins))
	copy(out, s[:i])
	copy(out[i:], ins)
	copy(out[i+len(ins):], s[i+del:])
	return out
}

// exact returns a copy of s without spare capacity.
func exact[E any](s []E) []E { return spliced(s, 0, 0) }

// find returns the item of hash h for which after is 0, or nil.
func (t tree[T]) find(h uint32, after func(*T) int) *T {
	var c cursor[T]
	c.seek(t, h, after)
	if it := c.peek(); it != nil && c.hash() == h && after(it) == 0 {
		return it
	}
	return nil
}

// treeOf builds a tree of items that are in order already. It takes items.
func treeOf[T any](o *order[T], items []*T) tree[T] {
	if len(items) == 0 {
		return tree[T]{}
	}
	var level []*node[T]
	for part := range parts(len(items)) {
		its := exact(items[part[0]:part[1]])
		hashes := make([]uint32, len(its))
		for i, it := range its {
			hashes[i] = o.hash(it)
		}
		level = append(level, leaf(o, hashes, its))
	}
	for len(level) > 1 {
		var up []*node[T]
		for part := range parts(len(level)) {
			up = append(up, inner(exact(level[part[0]:part[1]])))
		}
		level = up
	}
	return tree[T]{level[0], len(items)}
}

// parts yields [from, to) of n elements in even parts no longer than fanout.
func parts(n int) func(yield func([2]int) bool) {
	return func(yield func([2]int) bool) {
		k := (n + fanout - 1) / fanout
		for i := range k {
			if !yield([2]int{i * n / k, (i + 1) * n / k}) {
				return
			}
		}
	}
}

// all yields the items in order.
func (t tree[T]) all(yield func(*T) bool) {
	var c cursor[T]
	for c.start(t); ; c.next(0) {
		if it := c.peek(); it == nil || !yield(it) {
			return
		}
	}
}

// sorted orders items for treeOf.
func sorted[T any](o *order[T], items []*T) []*T {
	type keyed struct {
		hash uint32
		item *T
	}
	ks := make([]keyed, len(items))
	for i, it := range items {
		ks[i] = keyed{o.hash(it), it}
	}
	slices.SortFunc(ks, func(a, b keyed) int {
		if a.hash != b.hash {
			if a.hash < b.hash {
				return -1
			}
			return 1
		}
		return o.cmp(a.item, b.item)
	})
	for i := range ks {
		items[i] = ks[i].item
	}
	return items
}
