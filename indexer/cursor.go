package indexer

// A cursor stands on an item of a tree. It lives on its user's stack and holds
// the path from the root, so that a step costs no search.
type cursor[T any] struct {
	path  [maxDepth]step[T]
	depth int // of path in use; 0: past the end
}

type step[T any] struct {
	n *node[T]
	i int
}

// maxDepth suffices for fanout/4 to the power of maxDepth items.
const maxDepth = 12

// start stands on the first item.
func (c *cursor[T]) start(t tree[T]) {
	c.depth = 0
	if t.root != nil {
		c.descend(t.root)
	}
}

// seek stands on the first item not before (h, after); see node.search.
func (c *cursor[T]) seek(t tree[T], h uint32, after func(*T) int) {
	c.depth = 0
	n := t.root
	for n != nil {
		i := n.search(h, after)
		c.path[c.depth] = step[T]{n, i}
		c.depth++
		if n.kids == nil {
			if i == len(n.items) {
				c.path[c.depth-1].i--
				c.next(0)
			}
			return
		}
		n = n.kids[i]
	}
}

func (c *cursor[T]) descend(n *node[T]) {
	for {
		c.path[c.depth] = step[T]{n, 0}
		c.depth++
		if n.kids == nil {
			return
		}
		n = n.kids[0]
	}
}

// peek returns the item the cursor stands on, nil past the end.
func (c *cursor[T]) peek() *T {
	if c.depth == 0 {
		return nil
	}
	s := &c.path[c.depth-1]
	return s.n.items[s.i]
}

// hash returns the hash of the item that the cursor stands on.
func (c *cursor[T]) hash() uint32 {
	s := &c.path[c.depth-1]
	return s.n.hashes[s.i]
}

// next steps to the following item. With marks, whole nodes none of whose
// items bear one of them are passed over; single items without are not.
func (c *cursor[T]) next(marks uint8) {
	for c.depth > 0 {
		s := &c.path[c.depth-1]
		s.i++
		for s.n.kids != nil && s.i < len(s.n.kids) && marks != 0 && s.n.kids[s.i].marks&marks == 0 {
			s.i++
		}
		if s.i < len(s.n.hashes) {
			if s.n.kids != nil {
				c.enter(s.n.kids[s.i], marks)
			}
			return
		}
		c.depth--
	}
}

// enter descends to the first item below n, through kids that bear marks.
func (c *cursor[T]) enter(n *node[T], marks uint8) {
	for {
		i := 0
		for n.kids != nil && marks != 0 && n.kids[i].marks&marks == 0 {
			i++
		}
		c.path[c.depth] = step[T]{n, i}
		c.depth++
		if n.kids == nil {
			return
		}
		n = n.kids[i]
	}
}
