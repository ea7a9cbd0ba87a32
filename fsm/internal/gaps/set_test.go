package gaps

import (
	"fmt"
	"math/rand/v2"
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
