package indexer

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type num struct {
	key  uint32
	tie  int
	even bool
}

var byNum = &order[num]{
	hash: func(n *num) uint32 { return n.key },
	cmp:  func(a, b *num) int { return cmp.Compare(a.tie, b.tie) },
	marks: func(n *num) uint8 {
		if n.even {
			return 1
		}
		return 2
	},
}

func randomNum(r *rand.Rand, keys uint32) *num {
	return &num{key: r.Uint32N(keys), tie: r.IntN(4), even: r.IntN(20) == 0}
}

// slow is what a tree must equal: a sorted slice.
type slow []*num

func (s slow) with(n *num) slow {
	i, _ := slices.BinarySearchFunc(s, n, byNum.compare)
	return slices.Insert(slices.Clone(s), i, n)
}

func (s slow) without(n *num) (slow, bool) {
	i, ok := slices.BinarySearchFunc(s, n, byNum.compare)
	if !ok {
		return s, false
	}
	return slices.Delete(slices.Clone(s), i, i+1), true
}

func equalNums(t *testing.T, when string, tr tree[num], want slow) {
	t.Helper()
	got := slices.Collect(tr.all)
	if tr.n != len(want) || !slices.EqualFunc(got, want, func(a, b *num) bool { return byNum.compare(a, b) == 0 }) {
		t.Fatalf("%s: tree has %d items, %d walked; want %d, in order", when, tr.n, len(got), len(want))
	}
}

func TestTreeEqualsASortedSliceAfterEveryChange(t *testing.T) {
	for _, keys := range []uint32{1, 50, 1 << 31} {
		r := rand.New(rand.NewPCG(1, uint64(keys)))
		var tr tree[num]
		var want slow
		for i := range 4000 {
			before, beforeWant := tr, want
			grow := r.IntN(10) < 6
			if i > 2500 {
				grow = r.IntN(10) < 3
			}
			n := randomNum(r, keys)
			if grow || len(want) == 0 {
				tr, want = tr.with(byNum, n), want.with(n)
			} else {
				if r.IntN(4) > 0 {
					n = want[r.IntN(len(want))]
				}
				var found *num
				var ok bool
				tr, found = tr.without(byNum, n)
				want, ok = want.without(n)
				if (found != nil) != ok {
					t.Fatalf("without: found %v, want %v", found != nil, ok)
				}
			}
			if i%100 == 0 || tr.n < 70 {
				equalNums(t, "after a change", tr, want)
				equalNums(t, "the tree from before", before, beforeWant)
				checkNode(t, tr.root, true)
			}
		}
	}
}

// checkNode holds the rules of a node: length, hashes, marks, even depth.
func checkNode(t *testing.T, n *node[num], root bool) (depth int) {
	t.Helper()
	if n == nil {
		return 0
	}
	if len(n.hashes) > fanout || len(n.hashes) == 0 || cap(n.hashes) != len(n.hashes) || cap(n.items) != len(n.items) || cap(n.kids) != len(n.kids) {
		t.Fatalf("node of %d hashes, %d items (room for %d), %d kids", len(n.hashes), len(n.items), cap(n.items), len(n.kids))
	}
	if !slices.IsSorted(n.hashes) {
		t.Fatal("hashes are not in order")
	}
	var marks uint8
	for i, it := range n.items {
		marks |= byNum.marks(it)
		if n.hashes[i] != it.key {
			t.Fatal("a hash is not its item's")
		}
	}
	for i, k := range n.kids {
		marks |= k.marks
		d := checkNode(t, k, false)
		if i > 0 && d != depth {
			t.Fatal("leaves at different depths")
		}
		depth = d
		if n.hashes[i] != k.hashes[0] {
			t.Fatal("a hash is not its kid's first")
		}
	}
	if marks != n.marks {
		t.Fatalf("marks %b, want %b", n.marks, marks)
	}
	if root && len(n.kids) == 1 {
		t.Fatal("a root with one kid")
	}
	return depth + 1
}

func TestTreeOfSortedItemsEqualsOneBuiltByChanges(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32, 33, 64, 1000, 5000} {
		r := rand.New(rand.NewPCG(2, uint64(n)))
		items := make([]*num, n)
		for i := range items {
			items[i] = randomNum(r, 1000)
		}
		want := slow(slices.SortedFunc(slices.Values(items), byNum.compare))
		tr := treeOf(byNum, sorted(byNum, items))
		equalNums(t, "built at once", tr, want)
		checkNode(t, tr.root, true)
	}
}

func TestCursorSeeksTheFirstItemNotBefore(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	for _, n := range []int{0, 1, 40, 3000} {
		items := make([]*num, n)
		for i := range items {
			items[i] = randomNum(r, 300)
		}
		want := slow(sorted(byNum, items))
		tr := treeOf(byNum, want)
		for range 500 {
			x := randomNum(r, 302)
			i, _ := slices.BinarySearchFunc(want, x, byNum.compare)
			var c cursor[num]
			c.seek(tr, x.key, func(y *num) int { return byNum.cmp(y, x) })
			for j := i; j < min(i+40, n); j++ {
				if c.peek() == nil || byNum.compare(c.peek(), want[j]) != 0 || c.hash() != want[j].key {
					t.Fatalf("at %d of %d: got %v, want %v", j, n, c.peek(), want[j])
				}
				c.next(0)
			}
			if i+40 > n && c.peek() != nil {
				t.Fatalf("past the end: got %v", c.peek())
			}
		}
	}
}

func TestCursorMeetsEveryMarkedItem(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	items := make([]*num, 3000)
	want := 0
	for i := range items {
		items[i] = &num{key: r.Uint32(), even: r.IntN(100) == 0}
		if items[i].even {
			want++
		}
	}
	tr := treeOf(byNum, sorted(byNum, items))
	got, met := 0, 0
	var c cursor[num]
	for c.start(tr); c.peek() != nil; c.next(1) {
		met++
		if c.peek().even {
			got++
		}
	}
	if got != want {
		t.Errorf("met %d marked items, want %d", got, want)
	}
	if met > len(items)/2 {
		t.Errorf("met %d of %d items: nodes without a mark are not passed over", met, len(items))
	}
}
