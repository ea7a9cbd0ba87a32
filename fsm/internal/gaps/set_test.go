package gaps

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Gaps know, of each key, whether it was in a range that was added and was not cut out since.
func TestGaps(t *testing.T) {
	keys := make([]string, 540)
	for i := range keys {
		keys[i] = fmt.Sprintf("%03d", i)
	}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		g, dead := new(Set), make(map[string]bool)
		for range 150 {
			at := rnd.IntN(500)
			if rnd.IntN(3) > 0 {
				g.Cut(keys[at])
				delete(dead, keys[at])
			} else {
				to := at + 1 + rnd.IntN(30)
				g.Add(Gap{keys[at], keys[to]}, to-at)
				for ; at < to; at++ {
					dead[keys[at]] = true
				}
			}
			last := ""
			g.ranges.Scan(func(from string, r gapEnd) bool {
				if from >= r.to || from < last {
					t.Fatalf("a gap from %q to %q comes after one to %q", from, r.to, last)
				}
				last = r.to
				return true
			})
			for _, key := range keys {
				if x, in := g.At(key); in != dead[key] {
					t.Fatalf("%s in gap %v: %v, want %v", key, x, in, dead[key])
				}
			}
		}
	}
}

// So many gaps are kept at most; the copy that a query has stays as it is.
func TestGapsAreBounded(t *testing.T) {
	g := new(Set)
	g.Add(Gap{"0", "9"}, 10)
	before := g.Copied()
	for i := range 2 * maxGaps {
		g.Cut(fmt.Sprintf("%07d", 2*i))
		if n := g.ranges.Len(); n > maxGaps {
			t.Fatalf("there are %d gaps", n)
		}
	}
	for i := range 2 * maxGaps {
		g.Add(Gap{fmt.Sprintf("%07d", 2*i), fmt.Sprintf("%07d", 2*i+1)}, Least)
		if n := g.ranges.Len(); n > maxGaps {
			t.Fatalf("there are %d gaps", n)
		}
	}
	if x, ok := before.At("5"); !ok || x != (Gap{"0", "9"}) || before.ranges.Len() != 1 {
		t.Errorf("the copy has %d gaps, %v", before.ranges.Len(), x)
	}
}

// The longest gaps are kept, however many short ones a client makes elsewhere.
func TestLongGapsAreKept(t *testing.T) {
	g, long := new(Set), Gap{"a", "b"}
	g.Add(long, 100_000)
	for i := range 3 * maxGaps {
		g.Add(Gap{fmt.Sprintf("c%07d", 2*i), fmt.Sprintf("c%07d", 2*i+1)}, 16)
	}
	if x, ok := g.At("a5"); !ok || x != long {
		t.Errorf("at a5: gap %v, %v", x, ok)
	}
	g.Cut("a5")
	for i := range 3 * maxGaps {
		g.Add(Gap{fmt.Sprintf("c%07d", 2*i), fmt.Sprintf("c%07d", 2*i+1)}, 16)
	}
	for _, key := range []string{"a4", "a6"} {
		if _, ok := g.At(key); !ok {
			t.Errorf("%s is in no gap", key)
		}
	}
}

// The keys of gaps take so much memory at most, however long they are; the longest gaps are kept.
func TestKeysOfGapsAreBounded(t *testing.T) {
	g, long := new(Set), Gap{"a", "b"}
	g.Add(long, 100_000)
	name := strings.Repeat("x", 20_000)
	for i := range 1_000 {
		g.Add(Gap{fmt.Sprintf("c%04d0%s", i, name), fmt.Sprintf("c%04d1%s", i, name)}, 16)
		held := 0
		g.ranges.Scan(func(from string, r gapEnd) bool {
			held += len(from) + len(r.to)
			return true
		})
		if held > maxGapBytes {
			t.Fatalf("after %d gaps, the keys of %d take %d bytes", i+1, g.Len(), held)
		}
	}
	if x, ok := g.At("a5"); !ok || x != long {
		t.Errorf("at a5: gap %v, %v", x, ok)
	}
}

// A walk, up or down, learns of a gap when it has passed enough that is gone in a row; a gap that it knew
// counts as one.
func TestWalksLearnGaps(t *testing.T) {
	steps := make([]Gap, 0, Least)
	for i := range cap(steps) {
		steps = append(steps, Gap{string(rune('a' + i)), string(rune('b' + i))})
	}
	down := slices.Clone(steps)
	slices.Reverse(down)
	for name, walk := range map[string][]Gap{"up": steps, "down": down} {
		var learned *Set
		r := Run{Learned: &learned}
		for _, x := range walk[1:] {
			r.Add(x)
		}
		if r.End(); learned != nil {
			t.Errorf("%s: %d removed things are worth a gap", name, Least-1)
		}
		for i, x := range walk {
			if r.Add(x); i == Least/2 {
				r.End() // something alive
			}
		}
		if r.End(); learned != nil {
			t.Errorf("%s: what is alive is in gap %v", name, learned)
		}
		for _, x := range walk {
			r.Add(x)
		}
		r.End()
		want := Gap{steps[0].From, steps[Least-1].To}
		if learned == nil || learned.Len() != 1 {
			t.Fatalf("%s: no gap is learned, or too many: %v", name, learned)
		}
		if x, ok := learned.At("c"); !ok || x != want {
			t.Errorf("%s: gap %v, want %v", name, x, want)
		}
		r = Run{} // it is not alone with the state
		for _, x := range walk {
			r.Add(x)
		}
		r.End()
	}
}
