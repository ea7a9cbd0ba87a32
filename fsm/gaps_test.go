package fsm

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/gaps"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/transaction"
	"github.com/turnlog/turnlog/turn"
)

var gapsKey = turn.Key{Namespace: "0", Name: "gaps"}

// fewDead is how many removed elements a walk may pass: those of which none was looked at
// since. That there are more has a chance of (1-gapChance)^fewDead.
const fewDead = 250

// gapWalk asks for the first or last elements of a value.
type gapWalk struct {
	typ  turn.Type
	walk func(e *memtable.Elements, fn func(string, []byte) bool) error
}

func gapWalks() map[string]gapWalk {
	up := func(from string) func(*memtable.Elements, func(string, []byte) bool) error {
		return func(e *memtable.Elements, fn func(string, []byte) bool) error { return e.Ascend(from, fn) }
	}
	down := func(before string) func(*memtable.Elements, func(string, []byte) bool) error {
		return func(e *memtable.Elements, fn func(string, []byte) bool) error { return e.Descend(before, fn) }
	}
	return map[string]gapWalk{
		"lowest score":  {turn.TypeZSet, up(byScore)},
		"highest score": {turn.TypeZSet, down(pastScore)},
		"first member":  {turn.TypeZSet, up(byMember)},
		"last member":   {turn.TypeZSet, down(byScore)},
		"first field":   {turn.TypeHash, up("")},
		"oldest entry":  {turn.TypeStream, up("")},
		"newest entry":  {turn.TypeStream, down(layout.EntryName(turn.MaxEntryID()) + "\x00")},
	}
}

// fillNumbered adds n elements, of which the i-th has the i-th lowest name, score or id.
func (r *rig) fillNumbered(typ turn.Type, from, to int) {
	r.t.Helper()
	var ops []turn.Op
	for i := from; i <= to; i++ {
		name := fmt.Sprintf("%06d", i)
		switch typ {
		case turn.TypeZSet:
			ops = append(ops, &turn.SetScores{Key: gapsKey, Members: []turn.Score{{Member: name, Score: float64(i)}}})
		case turn.TypeHash:
			ops = append(ops, &turn.SetFields{Key: gapsKey, Type: typ, Fields: []turn.Field{{Name: name}}})
		case turn.TypeStream:
			ops = append(ops, &turn.AddEntry{Key: gapsKey, ID: turn.EntryID{Time: 1, Seq: uint64(i)},
				Fields: []turn.Field{{Name: "f"}}})
		}
	}
	r.apply(1, ops...)
}

// removeEnd removes what a walk comes to first, and returns how many removed elements the walk
// passed.
func (r *rig) removeEnd(w gapWalk) (dead uint64) {
	r.t.Helper()
	name := ""
	err := access{r.m}.Value(gapsKey, w.typ, queries.Ranges, new(turn.Result), func(e *memtable.Elements) error {
		err := w.walk(e, func(n string, _ []byte) bool {
			name = n
			return false
		})
		dead = e.Dead
		return err
	})
	if err != nil || name == "" {
		r.t.Fatalf("the walk came to %q: %v", name, err)
	}
	switch {
	case w.typ == turn.TypeStream:
		r.do(&turn.RemoveEntries{Key: gapsKey, IDs: []turn.EntryID{layout.SplitEntryName(name)}})
	case w.typ == turn.TypeHash:
		r.do(&turn.RemoveFields{Key: gapsKey, Type: w.typ, Names: []string{name}})
	case name[:1] == byScore:
		r.do(&turn.RemoveFields{Key: gapsKey, Type: w.typ, Names: []string{memberOf(name)}})
	default:
		r.do(&turn.RemoveFields{Key: gapsKey, Type: w.typ, Names: []string{name[1:]}})
	}
	return dead
}

// A client that takes the first or last element of a value, again and again, passes few of
// those that were taken before, also when others are added there.
func TestTakingFromAnEndPassesFewRemoved(t *testing.T) {
	const n = 2000
	for name, w := range gapWalks() {
		for _, adding := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/adding=%v", name, adding), func(t *testing.T) {
				r := newRig(t)
				r.fillNumbered(w.typ, 1000, 1000+n)
				r.flush()
				for i := range n - 10 {
					if dead := r.removeEnd(w); dead > fewDead {
						t.Fatalf("after %d, a walk passes %d that were removed", i, dead)
					}
					if adding && w.typ != turn.TypeStream && i%3 == 0 {
						r.fillNumbered(w.typ, 999-i, 999-i)
					} else if adding && i%3 == 0 {
						r.fillNumbered(w.typ, 5000+i, 5000+i)
					}
				}
			})
		}
	}
}

// Members that get higher and higher scores leave nothing behind that walks pass.
func TestRescoringPassesFewRemoved(t *testing.T) {
	r := newRig(t)
	r.fillNumbered(turn.TypeZSet, 1, 100)
	r.flush()
	for i := range 2000 {
		lowest := r.query(&turn.Scores{Key: gapsKey, By: turn.ByRank, Stop: 0}).Elements[0]
		if want := fmt.Sprintf("%06d", 1+i%100); lowest.Name != want {
			t.Fatalf("the lowest is %s, want %s", lowest.Name, want)
		}
		r.do(&turn.SetScores{Key: gapsKey, Members: []turn.Score{{Member: lowest.Name, Score: lowest.Score + 100}}})
		var dead uint64
		if err := (access{r.m}).Value(gapsKey, turn.TypeZSet, queries.Ranges, new(turn.Result),
			func(e *memtable.Elements) error {
				err := e.Ascend(byScore, func(string, []byte) bool { return true })
				dead = e.Dead
				return err
			}); err != nil || dead > fewDead {
			t.Fatalf("after %d, a walk passes %d that were moved: %v", i, dead, err)
		}
	}
}

// A stream that is emptied again and again does not pass what was in it.
func TestEmptiedStreamPassesFewRemoved(t *testing.T) {
	for _, down := range []bool{false, true} {
		r := newRig(t)
		r.fillNumbered(turn.TypeStream, 1, 1)
		r.flush()
		name := map[bool]string{false: "oldest entry", true: "newest entry"}[down]
		for i := range 500 {
			if dead := r.removeEnd(gapWalks()[name]); dead > fewDead {
				t.Fatalf("after %d, a walk to the %s passes %d that were removed", i, name, dead)
			}
			r.fillNumbered(turn.TypeStream, 2+i, 2+i)
		}
	}
}

// Whatever is added and removed where, walks that know the gaps show what others do.
func TestGapsHideNothing(t *testing.T) {
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		typ := []turn.Type{turn.TypeZSet, turn.TypeStream, turn.TypeHash}[seed%3]
		r, next := newRig(t), 3000
		r.fillNumbered(typ, 1000, 1200)
		for range 150 {
			switch at := 900 + rnd.IntN(400); {
			case rnd.IntN(20) == 0:
				r.flush()
			case rnd.IntN(3) > 0:
				for _, w := range gapWalks() {
					if w.typ == typ && r.query(&turn.Info{Key: gapsKey}).Count > 2 {
						r.removeEnd(w)
					}
				}
			case typ == turn.TypeStream:
				next++
				r.fillNumbered(typ, next, next)
			default:
				r.fillNumbered(typ, at, at+rnd.IntN(20))
			}
			r.compareGaps(typ)
		}
	}
}

// compareGaps walks with the gaps and without them.
func (r *rig) compareGaps(typ turn.Type) {
	r.t.Helper()
	for name, w := range gapWalks() {
		if w.typ != typ {
			continue
		}
		var names [2][]string
		if err := (access{r.m}).Value(gapsKey, typ, queries.Ranges, new(turn.Result), func(e *memtable.Elements) error {
			for i := range names {
				first := ""
				if err := w.walk(e, func(n string, _ []byte) bool {
					if first == "" {
						first = n[:1]
					}
					if typ == turn.TypeZSet && n[:1] != first {
						return false
					}
					names[i] = append(names[i], n)
					return true
				}); err != nil {
					return err
				}
				e.Gaps = nil
			}
			return nil
		}); err != nil {
			r.t.Fatal(err)
		}
		if !slices.Equal(names[0], names[1]) {
			r.t.Fatalf("%s: a walk shows %d elements, want %d", name, len(names[0]), len(names[1]))
		}
	}
}

// Walks in transactions, while which everything waits, find the gaps that no removal found:
// what one has passed the next does not pass again.
func TestWalksOfApplyFindGaps(t *testing.T) {
	const n = 600
	for name, w := range gapWalks() {
		for _, known := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/written=%v", name, known), func(t *testing.T) {
				r := newRig(t)
				r.m.keys.Chance = func() float64 { return 1 } // removals look for no gap
				r.fillNumbered(w.typ, 1000, 1000+n)
				r.flush()
				for range n - 10 {
					r.removeEnd(w)
				}
				if !known {
					r.flushWarm() // the head is in a table that is written to no more
				}
				dead := []uint64{r.deadWithin(w), r.deadWithin(w)}
				if dead[0] < n/2 && known || dead[1] > 2*gaps.Least {
					t.Errorf("two walks pass %d removed elements", dead)
				}
				r.compareGaps(w.typ)
			})
		}
	}
}

// deadWithin returns how many removed elements a walk of Apply passes.
func (r *rig) deadWithin(w gapWalk) (dead uint64) {
	r.t.Helper()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.keys.EndReading()
	s := transaction.State{Keys: r.m.keys}
	if err := s.Value(gapsKey, w.typ, queries.Ranges, new(turn.Result), func(e *memtable.Elements) error {
		defer func() { dead = e.Dead }()
		return w.walk(e, func(string, []byte) bool { return false })
	}); err != nil {
		r.t.Fatal(err)
	}
	return dead
}

// deadKeys counts the deleted keys that a walk of Apply through all keys passes.
func (r *rig) deadKeys() (n int, live []string) {
	r.t.Helper()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.keys.EndReading()
	tx, err := r.m.keys.Reading()
	if err == nil {
		err = r.m.keys.EachSession(tx, "0", "", "", func(key string, h *memtable.Head) bool {
			if h == nil {
				n++
			} else {
				live = append(live, layout.SplitKey(key).Name)
			}
			return true
		})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return n, live
}

// To erase what is erased already, again and again, passes the deleted keys once; keys that
// come back in between are found.
func TestErasePassesDeletedKeysOnce(t *testing.T) {
	const keys = 3000
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprintf("key%05d", i)} }
	r := newRig(t)
	erase := func() {
		for cursor, done := "", false; !done; done = cursor == "" {
			cursor = r.do(&turn.Erase{Namespace: "0", Cursor: cursor, Limit: 100}).Cursor
		}
	}
	var ops []turn.Op
	for i := range keys {
		ops = append(ops, &turn.SetString{Key: key(i), Value: []byte("v")})
	}
	r.apply(1, ops...)
	r.flush()
	erase()
	for round := range 30 {
		if n, live := r.deadKeys(); round > 1 && n > 100 || len(live) > 0 {
			t.Fatalf("round %d: a walk passes %d deleted keys and shows %q", round, n, live)
		}
		var back []string
		for i := range round % 3 {
			k := key(round*97 + i*31)
			back = append(back, k.Name)
			r.do(&turn.SetString{Key: k, Value: []byte("v")})
		}
		if _, live := r.deadKeys(); !slices.Equal(live, back) {
			t.Fatalf("round %d: a walk shows %q, want %q", round, live, back)
		}
		erase()
	}
}
