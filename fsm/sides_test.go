package fsm

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/transaction"
	"github.com/turnlog/turnlog/turn"
)

// pushed appends n messages at one end of sessionA.
func (r *rig) pushed(side turn.Side, n int) {
	r.t.Helper()
	ms := make([]turn.NewMessage, n)
	for i := range ms {
		ms[i].Data = []byte{'x'}
	}
	r.do(&turn.Append{Key: sessionA, Side: side, Messages: ms})
}

// spent applies operations as one entry, or as one transaction, and returns what they took off
// the allowance.
func (r *rig) spent(ops ...turn.Op) int {
	r.t.Helper()
	for _, out := range r.apply(1, ops...) {
		if out.Err != nil {
			r.t.Fatal(out.Err)
		}
		for i, step := range out.Result.Steps {
			if step.Err != nil {
				r.t.Fatalf("step %d: %v", i, step.Err)
			}
		}
	}
	return cost.EntryAllowance() - r.m.keys.Allowance.Left
}

func repeated(n int, q turn.Query) turn.Op {
	tx := new(turn.Tx)
	for range n {
		tx.Steps = append(tx.Steps, turn.Step{Query: q})
	}
	return tx
}

// Messages of the other side that a walk passes are charged for.
func TestWalksAreChargedForBothSides(t *testing.T) {
	const between = 2000
	for name, op := range map[string]turn.Op{
		"index": repeated(1, &turn.List{Key: sessionA, Start: 1, Stop: 1}),
		"set":   &turn.SetElement{Key: sessionA, Index: 1, Data: []byte("y")},
		"pop":   &turn.Pop{Key: sessionA, From: turn.Head, Count: 2, List: true},
		"more":  &turn.Pop{Key: sessionA, From: turn.Head, Count: 10, List: true},
		"find":  &turn.RemoveElements{Key: sessionA, Count: 3, Data: []byte("x")},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.pushed(turn.Head, 2)
			r.pushed(turn.Tail, between)
			r.pushed(turn.Head, 1)
			for _, flushed := range []bool{false, true} {
				if flushed {
					r.pushed(turn.Head, 3)
					r.pushed(turn.Tail, between)
					r.pushed(turn.Head, 1)
					r.flush()
				}
				if n := r.spent(op); n < cost.Passed*between {
					t.Errorf("flushed: %v: it costs %d, want %d at least", flushed, n, cost.Passed*between)
				}
			}
		})
	}
}

// A walk for a side begins at its highest message and ends at its lowest one, however many
// others are above or below.
func TestWalksBeginAtTheirSide(t *testing.T) {
	const n, others = 30, 5000
	for _, side := range []turn.Side{turn.Tail, turn.Head} {
		r := newRig(t)
		other := turn.Tail + turn.Head - side
		r.pushed(other, others)
		r.pushed(side, 3*n)
		r.pushed(other, others)
		first, last := int64(0), int64(n)
		if side == turn.Tail {
			first, last = -1, -n-1
		}
		var pops, sets []turn.Op
		for range n {
			pops = append(pops, &turn.Pop{Key: sessionA, From: side, Count: 1, List: true})
			sets = append(sets, &turn.SetElement{Key: sessionA, Index: last, Data: []byte("y")})
		}
		for _, step := range []string{"in memory", "flushed", "restarted"} {
			switch step {
			case "flushed":
				r.flush()
			case "restarted":
				r.restart()
			}
			spent := []int{
				r.spent(repeated(n, &turn.List{Key: sessionA, Start: first, Stop: first})),
				r.spent(pops[:n/2]...), r.spent(sets...),
			}
			for i, got := range spent {
				if got > cost.Passed*others {
					t.Errorf("side %d, %s: walk %d costs %d, want less than %d", side, step, i, got, cost.Passed*others)
				}
			}
		}
	}
}

// Walks of Apply pass removed messages once, whichever side they are of.
func TestWalksOfApplyPassRemovedMessagesOnce(t *testing.T) {
	const n = 3000
	r := newRig(t)
	r.pushed(turn.Head, 2)
	r.pushed(turn.Tail, n)
	r.flush()
	for range n {
		r.do(&turn.Pop{Key: sessionA, From: turn.Tail, Count: 1, List: true})
	}
	r.pushed(turn.Head, 2)
	walks := map[string]turn.Query{
		"newest": &turn.Read{Key: sessionA, Limit: 4},
		"oldest": &turn.Read{Key: sessionA, From: turn.FromAfter, Limit: 4},
		"list":   &turn.List{Key: sessionA, Start: 0, Stop: -1},
	}
	for _, q := range walks {
		r.spent(repeated(1, q))
	}
	for name, q := range walks {
		if got := r.removedWithin(q); got > 4*memtable.LongRun {
			t.Errorf("%s: a walk passes %d removed messages again", name, got)
		}
	}
}

// skipping is the state as of an entry, which tells how many removed messages a walk has skipped.
type skipping struct {
	transaction.State
	skipped *uint64
}

func (s skipping) Session(k turn.Key, r *turn.Result, enough func(*memtable.Head, *memtable.View) bool,
	fn func(*memtable.Head, *memtable.View) error) error {
	return s.State.Session(k, r, enough, func(h *memtable.Head, v *memtable.View) error {
		defer func() { *s.skipped = v.Skipped }()
		return fn(h, v)
	})
}

// removedWithin returns how many removed messages a query of sessionA passes in Apply.
func (r *rig) removedWithin(q turn.Query) (removed uint64) {
	r.t.Helper()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.keys.EndReading()
	out := new(turn.Result)
	r.m.keys.Allowance.Left = cost.EntryAllowance()
	err := queries.Answer(skipping{transaction.State{Keys: r.m.keys}, &removed}, q, out)
	if err != nil || len(out.Messages) != 4 {
		r.t.Fatalf("%d messages: %v", len(out.Messages), err)
	}
	return removed
}

// A pop that would pass more than an entry may is refused, and goes on where it was when it is
// sent again.
func TestPopGoesOnWhereItWasRefused(t *testing.T) {
	const between, most = 1000, 300
	r := newRig(t)
	r.pushed(turn.Head, 1)
	r.pushed(turn.Tail, between)
	r.pushed(turn.Head, 1)
	r.do(&turn.Pop{Key: sessionA, From: turn.Head, Count: 1, List: true})
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	h, err := r.m.keys.Head(layout.JoinKey(sessionA))
	if err != nil {
		t.Fatal(err)
	}
	h = r.m.keys.Own(layout.JoinKey(sessionA), h)
	for tries := 1; ; tries++ {
		r.m.keys.Allowance.Left = cost.Passed * most
		taken, err := r.m.sessions.TakeFrom(h, turn.Head, 1)
		if err == nil {
			if len(taken) != 1 || taken[0].Seq != 1 || tries != between/most+1 {
				t.Errorf("try %d takes %v", tries, taken)
			}
			return
		}
		if e := turn.AsError(err); e.Kind != turn.Overloaded || r.m.keys.Allowance.Left > 0 || h.Count() != between+1 ||
			tries > between/most {
			t.Fatalf("try %d: %v, allowance %d, %d messages", tries, err, r.m.keys.Allowance.Left, h.Count())
		}
	}
}

// What is charged depends on neither flushes nor restarts, nor on what walks found before.
func TestChargesAreTheSameOnEveryNode(t *testing.T) {
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		nodes := []*rig{newRig(t), newRig(t)}
		for entry := range 150 {
			op := sidesOp(rnd)
			var left [2]int
			var outs [2]string
			for i, r := range nodes {
				for _, out := range r.apply(int64(entry), op) {
					outs[i] += fmt.Sprint(out.Err, out.Result.Removed, out.Result.Count)
					for _, step := range out.Result.Steps {
						outs[i] += fmt.Sprint(step.Err, step.Result.Messages)
					}
				}
				left[i] = r.m.keys.Allowance.Left
			}
			if left[0] != left[1] || outs[0] != outs[1] {
				t.Fatalf("seed %d, entry %d, %T: the nodes have %d left, %s", seed, entry, op, left, outs)
			}
			switch rnd.IntN(12) {
			case 0:
				nodes[1].flush()
			case 1:
				nodes[1].flushWarm()
			case 2:
				nodes[1].flush()
				nodes[1].restart()
			}
		}
		if a, b := nodes[0].hash(), nodes[1].hash(); a != b {
			t.Errorf("seed %d: the states differ", seed)
		}
	}
}

// sidesOp returns a random operation on a list of both sides.
func sidesOp(rnd *rand.Rand) turn.Op {
	side := turn.Side(rnd.IntN(2))
	at := int64(rnd.IntN(80) - 40)
	switch rnd.IntN(12) {
	case 0, 1, 2, 3:
		ms := make([]turn.NewMessage, 1+rnd.IntN(40))
		for i := range ms {
			ms[i].Data = []byte{byte('a' + rnd.IntN(3))}
		}
		return &turn.Append{Key: sessionA, Side: side, Messages: ms}
	case 4, 5:
		return &turn.Pop{Key: sessionA, From: turn.Side(rnd.IntN(3)), Count: uint64(1 + rnd.IntN(30)), List: true}
	case 6:
		return &turn.RemoveElements{Key: sessionA, Count: int64(rnd.IntN(40) - 20), Data: []byte("a")}
	case 7:
		return &turn.SetElement{Key: sessionA, Index: at, Data: []byte("b")}
	case 8:
		return &turn.InsertElement{Key: sessionA, Pivot: []byte("c"), Data: []byte("a")}
	case 9:
		return &turn.Trim{Key: sessionA, By: turn.ListRange, Start: int64(rnd.IntN(10)), Stop: -1 - int64(rnd.IntN(10))}
	case 10:
		return repeated(3, &turn.List{Key: sessionA, Start: at, Stop: at + 3})
	}
	return repeated(2, &turn.Read{Key: sessionA, Limit: 5})
}
