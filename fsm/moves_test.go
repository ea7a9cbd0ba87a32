package fsm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/memtable"
	"github.com/turnlog/turnlog/turn"
)

// edit makes a random edit of the list, of n elements about.
func (r *rig) edit(rnd *rand.Rand, n int) {
	r.t.Helper()
	at := rnd.Int64N(int64(n))
	data := []byte(fmt.Sprint("edit", rnd.IntN(50)))
	var op turn.Op
	switch rnd.IntN(8) {
	case 0, 1, 2:
		op = &turn.SetElement{Key: sessionA, Index: at, Data: data}
	case 3, 4:
		ms := r.query(&turn.List{Key: sessionA, Start: at, Stop: at}).Messages
		if len(ms) == 0 {
			return
		}
		op = &turn.InsertElement{Key: sessionA, Pivot: ms[0].Data, After: at%2 == 0, Data: data}
	case 5:
		op = &turn.MoveElement{Key: sessionA, To: sessionA, From: turn.Side(at % 2), On: turn.Side(at / 2 % 2)}
	case 6:
		op = &turn.RemoveElements{Key: sessionA, Count: 1, Data: data}
	case 7:
		op = &turn.Pop{Key: sessionA, From: turn.Side(at % 2), Count: 2}
	}
	if out := r.apply(2, op); out[0].Err != nil && out[0].Err.Kind != turn.Invalid {
		r.t.Fatalf("%+v: %v", op, out[0].Err)
	}
}

// Whatever edits of the list there are between an append and its retry, it is
// recognised as long as no more than the window's messages were appended since; and
// not longer.
func TestListEditsKeepIDs(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			r := newRig(t)
			r.listOf(2500)
			probe := &turn.Append{Key: sessionA,
				Messages: []turn.NewMessage{{ID: "p", Data: []byte("probe")}, {ID: "q", Data: []byte("second")}}}
			first := r.apply(2, probe)[0].Result.First
			again := func(when string, want bool) {
				t.Helper()
				out := r.apply(2, probe)[0]
				if out.Err != nil || out.Result.Duplicate != want || want && out.Result.First != first {
					t.Fatalf("%s: %+v, %v; want it to be message %d: %v", when, out.Result, out.Err, first, want)
				}
			}
			// Where half of the window ends, edits are made that would use all of it up.
			for appended := 0; appended < turn.IDWindow-2; appended++ {
				if appended%100 == 50 {
					for range 3 {
						r.edit(rnd, 2400)
					}
					switch rnd.IntN(4) {
					case 0:
						r.flush()
					case 1:
						r.restart()
					case 2:
						r.m.sessions.IDs.Windows.Clear()
					}
					again(fmt.Sprint("after ", appended, " messages"), true)
				}
				id := ""
				if rnd.IntN(3) == 0 {
					id = fmt.Sprint("other", appended)
				}
				r.apply(2, &turn.Append{Key: sessionA, Side: turn.Side(rnd.IntN(2)),
					Messages: []turn.NewMessage{{ID: id, Data: []byte("x")}}})
			}
			again("after a window", true)
			other := newRig(t)
			if err := other.m.Restore(bytes.NewReader(r.dump())); err != nil {
				t.Fatal(err)
			}
			other.index, other.log = r.index, r.log
			if a, b := r.hash(), other.hash(); a != b {
				t.Fatalf("state %s, restored %s", a, b)
			}
			r.apply(2, appendOf(sessionA, "", "one more"), appendOf(sessionA, "", "two more"))
			again("beyond the window", false)
		})
	}
}

// What is appended in one batch, and moved in part, is still known as that batch.
func TestMovedBatchIsKnown(t *testing.T) {
	r := newRig(t)
	batch := &turn.Append{Key: sessionA}
	for i := range 6 {
		batch.Messages = append(batch.Messages, turn.NewMessage{ID: fmt.Sprint("id", i), Data: []byte(fmt.Sprint(i))})
	}
	r.apply(1, batch)
	r.apply(1, &turn.InsertElement{Key: sessionA, Pivot: []byte("3"), After: true, Data: []byte("new")})
	r.flush()
	if out := r.apply(2, batch)[0]; !out.Result.Duplicate || out.Result.First != 1 || out.Result.Last != 6 {
		t.Errorf("the batch again: %+v, %v", out.Result, out.Err)
	}
	once := &turn.PushOnce{Key: sessionA, Messages: batch.Messages[3:]}
	if out := r.apply(2, once)[0]; !out.Result.Duplicate || out.Result.First != 4 {
		t.Errorf("its end again: %+v, %v", out.Result, out.Err)
	}
	r.apply(2, &turn.RemoveElements{Key: sessionA, Data: []byte("5")})
	once.Messages = batch.Messages[5:]
	if out := r.apply(2, once)[0]; out.Result.Duplicate || out.Err != nil {
		t.Errorf("a moved message that was removed, pushed once: %+v, %v", out.Result, out.Err)
	}
	// A fork knows the ids of what it holds.
	r.apply(2, &turn.Fork{Key: sessionA, To: turn.Key{Namespace: "0", Name: "fork"}})
	if out := r.apply(2, appendOf(turn.Key{Namespace: "0", Name: "fork"}, "id4", "4"))[0]; !out.Result.Duplicate {
		t.Errorf("a moved message of a fork again: %+v, %v", out.Result, out.Err)
	}
}

// An element that is replaced keeps its seq, time and id; its id stays that of what was
// appended, wherever the message goes.
func TestReplacedElementKeepsItsPlace(t *testing.T) {
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprint("flush=", flush), func(t *testing.T) {
			r := newRig(t)
			r.listOf(9)
			settle := func() {
				if flush {
					r.flush()
					r.restart()
				}
			}
			settle()
			before := r.query(&turn.Info{Key: sessionA}).Session
			big := strings.Repeat("x", 3*layout.BlockBytes)
			for i, data := range map[int64]string{4: "four", 6: "six", 2: big, 7: big} {
				r.apply(2, &turn.SetElement{Key: sessionA, Index: i, Data: []byte(data)})
			}
			settle()
			r.apply(3, &turn.SetElement{Key: sessionA, Index: -5, Data: []byte("vier")})
			settle()
			if got := r.elements(3, 6); got != "3 vier 5 six" {
				t.Fatalf("list is %s", got)
			}
			after := r.query(&turn.Info{Key: sessionA}).Session
			if after.Last != before.Last || after.Revision == before.Revision ||
				after.Bytes != before.Bytes-4+4+3+2*3*layout.BlockBytes {
				t.Errorf("the session is %+v, was %+v", after, before)
			}
			ms := r.query(&turn.Read{Key: sessionA, From: turn.FromAfter, Seq: 4, Limit: 1}).Messages
			if len(ms) != 1 || ms[0].Seq != 5 || ms[0].ID != "id4" || ms[0].Time != 1 || string(ms[0].Data) != "vier" {
				t.Errorf("the message is %+v", ms)
			}
			known := func(when string) {
				t.Helper()
				if out := r.apply(3, appendOf(sessionA, "id4", "4"))[0]; !out.Result.Duplicate ||
					out.Result.First != 5 {
					t.Errorf("%s, as it was appended: %+v, %v", when, out.Result, out.Err)
				}
				if out := r.apply(3, appendOf(sessionA, "id4", "vier"))[0]; out.Err == nil ||
					out.Err.Kind != turn.IDReused {
					t.Errorf("%s, as it is: %+v, %v", when, out.Result, out.Err)
				}
			}
			known("replaced")
			r.apply(3, &turn.RemoveElements{Key: sessionA, Data: []byte("vier")})
			known("removed")
			settle()
			known("deleted")
			if r.query(&turn.Info{Key: sessionA}).Session.Bytes != after.Bytes-4 {
				t.Error("its bytes are still counted")
			}
		})
	}
}

// What is kept of moved messages counts as memory of the changes that keep it.
func TestMovesAreCounted(t *testing.T) {
	r := newRig(t)
	const runs = 300
	r.do(appendOf(sessionA, "id", "new"))
	for i := range runs {
		r.do(&turn.InsertElement{Key: sessionA, Pivot: []byte("new"), Data: []byte("new")})
		r.do(appendOf(sessionA, fmt.Sprint("a", i), "x"))
	}
	r.flush()
	for _, op := range []turn.Op{&turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}},
		&turn.InsertElement{Key: sessionA, Pivot: []byte("new"), Data: []byte("new")},
		&turn.Delete{Keys: []turn.Key{sessionA}}} {
		before := r.m.keys.Tables.Active.Bytes
		r.do(op)
		grown := r.m.keys.Tables.Active.Bytes - before
		if grown < runs*memtable.SpanCost || grown > 2*runs*memtable.SpanCost {
			t.Errorf("%T takes %d bytes, of %d for what was moved", op, grown, runs*memtable.SpanCost)
		}
		r.flush()
	}
}
