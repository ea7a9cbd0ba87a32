package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// fill appends n messages of so many bytes to sessionA, and flushes.
func (r *rig) fill(n, size int) {
	r.t.Helper()
	for i := 0; i < n; {
		var ms []turn.NewMessage
		for total := 0; i < n && total < 1<<20; i++ {
			data := bytes.Repeat([]byte{byte('a' + i%26)}, size)
			copy(data, fmt.Sprint(i, " "))
			ms = append(ms, turn.NewMessage{Data: data})
			total += size
		}
		if out := r.apply(1, &turn.Append{Key: sessionA, Messages: ms}); out[0].Err != nil {
			r.t.Fatal(out[0].Err)
		}
	}
	r.flush()
}

// outcomes counts what became of commands, by kind of error; Internal: they took place.
func outcomes(outs []Outcome) map[turn.Kind]int {
	n := make(map[turn.Kind]int)
	for _, out := range outs {
		if out.Err != nil {
			n[out.Err.Kind]++
		} else {
			n[turn.Internal]++
		}
	}
	return n
}

func forks(n int) (ops []turn.Op) {
	for i := range n {
		ops = append(ops, &turn.Fork{Key: sessionA, To: turn.Key{Namespace: "0", Name: fmt.Sprint("fork", i)}})
	}
	return ops
}

// An entry of a few bytes does not need any amount of memory, on every node and at
// every start: what it may copy is bounded, and the rest can be sent again.
func TestEntryCopiesBounded(t *testing.T) {
	r := newRig(t)
	r.fill(100, 100<<10)
	before := r.m.keys.Tables.Active.Bytes
	outs := r.apply(2, forks(60)...)
	grown, bound := r.m.keys.Tables.Active.Bytes-before, cost.EntryAllowance()+1<<20
	got := outcomes(outs)
	if grown > bound {
		t.Errorf("an entry of %d bytes needs %d MiB, want at most %d", len(r.log[len(r.log)-1]), grown>>20, bound>>20)
	}
	if got[turn.Internal] < 5 || got[turn.Overloaded] != 60-got[turn.Internal] {
		t.Errorf("forks of one entry: %v", got)
	}
	// What was refused did nothing, and can be sent again.
	for i, out := range outs {
		op := forks(60)[i].(*turn.Fork)
		if there := r.query(&turn.Info{Key: op.To}).Session != nil; there != (out.Err == nil) {
			t.Errorf("fork %d: %v, there: %v", i, out.Err, there)
		}
	}
	r.flush()
	if out := r.apply(2, forks(60)[59])[0]; out.Err != nil {
		t.Errorf("sent again: %v", out.Err)
	}
}

// A transaction that copies too much fails from there on, and sending it again does not
// help.
func TestTransactionCopiesBounded(t *testing.T) {
	r := newRig(t)
	r.fill(100, 100<<10)
	tx := &turn.Tx{}
	for _, op := range append(forks(40), &turn.SetElement{Key: sessionA, Data: []byte("x")}) {
		tx.Steps = append(tx.Steps, turn.Step{Op: op})
	}
	before := r.m.keys.Tables.Active.Bytes
	small := &turn.AddInt{Key: turn.Key{Namespace: "0", Name: "n"}, Delta: 1}
	outs := r.apply(2, tx, small, small)
	if grown := r.m.keys.Tables.Active.Bytes - before; grown > cost.EntryAllowance()+1<<20 {
		t.Errorf("it needs %d MiB", grown>>20)
	}
	kinds := make(map[turn.Kind]int)
	for _, step := range outs[0].Result.Steps {
		if step.Err != nil {
			kinds[step.Err.Kind]++
		}
	}
	if kinds[turn.TooLarge] < 20 || len(kinds) != 1 {
		t.Errorf("steps failed: %v", kinds)
	}
	if outs[1].Err != nil || outs[2].Err != nil || outs[2].Result.Number != 2 {
		t.Errorf("others in the entry: %v, %v", outs[1].Err, outs[2].Err)
	}
}

// Edits in the middle of a list: replacing elements copies nothing, inserting is bounded
// as forks are.
func TestEditsCopyBounded(t *testing.T) {
	r := newRig(t)
	r.fill(8_000, 1<<10)
	var replace, insert []turn.Op
	for i := range int64(200) {
		replace = append(replace, &turn.SetElement{Key: sessionA, Index: 3_900 + i, Data: []byte(fmt.Sprint("r", i))})
		insert = append(insert, &turn.InsertElement{Key: sessionA, Pivot: []byte(fmt.Sprint("r", i)),
			Data: []byte("x")})
	}
	before := r.m.keys.Tables.Active.Bytes
	if got := outcomes(r.apply(2, replace...)); got[turn.Internal] != 200 {
		t.Errorf("replaced: %v", got)
	}
	if grown := r.m.keys.Tables.Active.Bytes - before; grown > 200<<10 {
		t.Errorf("to replace 200 elements needs %d KiB", grown>>10)
	}
	before = r.m.keys.Tables.Active.Bytes
	got := outcomes(r.apply(2, insert...))
	if grown := r.m.keys.Tables.Active.Bytes - before; grown > cost.EntryAllowance()+1<<20 {
		t.Errorf("to insert elements needs %d MiB", grown>>20)
	}
	if got[turn.Internal] == 0 || got[turn.Overloaded] == 0 || len(got) != 2 {
		t.Errorf("inserted: %v", got)
	}
}

// What an entry takes out to be answered with is bounded, too.
func TestPopBounded(t *testing.T) {
	r := newRig(t)
	r.fill(20, 5<<20)
	all := &turn.Pop{Key: sessionA, From: turn.Head, Count: 1 << 40}
	for _, from := range []turn.Side{turn.Tail, turn.Head, turn.Newest} {
		all.From = from
		if out := r.apply(2, all)[0]; out.Err == nil || out.Err.Kind != turn.TooLarge {
			t.Fatalf("all at once: %d removed, %v", out.Result.Removed, out.Err)
		}
	}
	if n := r.query(&turn.Info{Key: sessionA}).Session.Count; n != 20 {
		t.Fatalf("%d messages are left", n)
	}
	part := &turn.Pop{Key: sessionA, From: turn.Head, Count: 10}
	if got := outcomes(r.apply(2, part, part)); got[turn.Internal] != 1 || got[turn.Overloaded] != 1 {
		t.Errorf("two parts in one entry: %v", got)
	}
	if out := r.apply(2, part)[0]; out.Result.Removed != 10 {
		t.Errorf("the second part: %d removed, %v", out.Result.Removed, out.Err)
	}
}

// A search holds the state's lock while it passes messages: it ends where the allowance
// does, by their number or by their bytes, and nothing was done.
func TestSearchBounded(t *testing.T) {
	pivot := []byte("0 aaaaaaaa")
	for _, c := range []struct {
		allowed int // messages that may be passed
		size    int
		want    turn.Kind // Internal: it takes place
	}{
		{30, 10, turn.TooLarge}, {31, 10, turn.Internal}, {31, 1000, turn.TooLarge}, {70, 1000, turn.Internal},
	} {
		for _, op := range []turn.Op{&turn.RemoveElements{Key: sessionA, Data: []byte("none")},
			&turn.InsertElement{Key: sessionA, Pivot: []byte("none"), Data: pivot}} {
			r := newRig(t)
			r.fill(31, c.size)
			before := r.query(&turn.Info{Key: sessionA}).Session
			left := c.allowed * cost.Passed
			got := turn.Internal
			r.m.mu.Lock()
			r.m.keys.Allowance = cost.Allowance{Left: left, Whole: true}
			if err := r.m.applyOp(r.index, op, new(turn.Result)); err != nil {
				got = turn.KindOf(err)
			}
			r.m.keys.EndReading()
			used := left - r.m.keys.Allowance.Left
			r.m.mu.Unlock()
			if got != c.want {
				t.Errorf("%d messages of %d bytes, %T: %v, want %v", 31, c.size, op, got, c.want)
			}
			if used < 31*cost.Passed && used != left {
				t.Errorf("%d messages of %d bytes, %T cost %d", 31, c.size, op, used)
			}
			if after := r.query(&turn.Info{Key: sessionA}).Session; after.Revision != before.Revision {
				t.Errorf("%T that found nothing changed %+v", op, after)
			}
		}
	}
}

// Behind what has spent all of an entry's allowance no message is looked for, also where its id alone would
// tell its place.
func TestNothingIsSearchedWhenAllIsSpent(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "data"))
	byID, bySeq := turn.MessageRef{ID: "id"}, turn.MessageRef{Seq: 1}
	for _, op := range []turn.Op{
		&turn.EditMessage{Key: sessionA, Message: byID, Data: []byte("x")},
		&turn.EditMessage{Key: sessionA, Message: bySeq, Data: []byte("x")},
		&turn.RemoveMessage{Key: sessionA, Message: byID},
		&turn.SetElement{Key: sessionA, Data: []byte("x")},
		&turn.RemoveElements{Key: sessionA, Data: []byte("data")},
	} {
		r.m.mu.Lock()
		r.m.keys.Allowance = cost.Allowance{}
		err := r.m.applyOp(r.index, op, new(turn.Result))
		r.m.keys.EndReading()
		r.m.mu.Unlock()
		if !turn.Is(err, turn.Overloaded) {
			t.Errorf("%T: %v", op, err)
		}
	}
	if got := r.query(&turn.Read{Key: sessionA}).Messages; len(got) != 1 || string(got[0].Data) != "data" {
		t.Errorf("the session has %+v", got)
	}
}

// What is removed from among others takes memory by the gaps that it leaves.
func TestRemovedElementsTakeLittleMemory(t *testing.T) {
	for _, end := range []int64{1, -1} {
		r := newRig(t)
		const n = 10_000
		for side := range turn.Side(2) {
			for range n / 1000 {
				ms := make([]turn.NewMessage, 1000)
				for i := range ms {
					ms[i].Data = []byte("x")
				}
				r.do(&turn.Append{Key: sessionA, Messages: ms, Side: side})
			}
		}
		r.do(appendOf(sessionA, "", "y"))
		before := r.m.keys.Tables.Active.Bytes
		if got := r.do(&turn.RemoveElements{Key: sessionA, Data: []byte("x"), Count: end * n * 2}).Removed; got != 2*n {
			t.Fatalf("%d were removed", got)
		}
		if grown := r.m.keys.Tables.Active.Bytes - before; grown > 1000 {
			t.Errorf("to remove %d elements takes %d bytes", 2*n, grown)
		}
		if got := r.elements(0, -1); got != "y" {
			t.Errorf("%q is left", got)
		}
		r.flush()
		if got := r.elements(0, -1); got != "y" {
			t.Errorf("%q is left in the store", got)
		}
	}
}

// A small payload keeps all of the entry that it came in: that counts, so that a flush
// comes in time. What is moved or copied does not keep the entry that it once came in.
func TestWholeEntriesAreCounted(t *testing.T) {
	r := newRig(t)
	large := bytes.Repeat([]byte("x"), 4<<20)
	rev := uint64(1 << 60)
	refused := &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: large}}, Expect: &rev}
	before := r.m.keys.Tables.Active.Bytes
	for i := range 8 {
		outs := r.apply(1, refused, appendOf(sessionA, "", fmt.Sprint(i)))
		if outs[0].Err == nil || outs[1].Err != nil {
			t.Fatal(outs)
		}
	}
	if counted := r.m.keys.Tables.Active.Bytes - before; counted < 32<<20 || counted > 33<<20 {
		t.Errorf("%d KiB are counted, 32 MiB are held", counted>>10)
	}
	before = r.m.keys.Tables.Active.Bytes
	r.apply(1, refused, &turn.EditMessage{Key: sessionA, Message: turn.MessageRef{Seq: 1}, Data: []byte("edited")})
	if counted := r.m.keys.Tables.Active.Bytes - before; counted < 4<<20 {
		t.Errorf("%d KiB are counted, an edited message holds 4 MiB", counted>>10)
	}
	before = r.m.keys.Tables.Active.Bytes
	r.apply(1, refused)
	r.apply(1, &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: large}}})
	if counted := r.m.keys.Tables.Active.Bytes - before; counted > 5<<20 {
		t.Errorf("%d KiB are counted, 4 MiB are held", counted>>10)
	}
	data := func(key turn.Key, i int64) []byte {
		return r.query(&turn.List{Key: key, Start: i, Stop: i}).Messages[0].Data
	}
	other := turn.Key{Namespace: "0", Name: "other"}
	second := data(sessionA, 1)
	r.apply(1, &turn.MoveElement{Key: sessionA, To: other, From: turn.Head, On: turn.Tail},
		&turn.Fork{Key: sessionA, To: turn.Key{Namespace: "0", Name: "fork"}},
		&turn.InsertElement{Key: sessionA, Pivot: second, After: true, Data: []byte("new")})
	for _, at := range []turn.Key{sessionA, {Namespace: "0", Name: "fork"}} {
		if now := data(at, 0); string(now) != string(second) || &now[0] == &second[0] {
			t.Errorf("%q in %s is a part of what came before", now, at.Name)
		}
	}
}

// What the queries of transactions pass and return is bounded for all of an entry, whichever clients
// sent them: a few bytes could otherwise have every node count to a million again and again.
func TestTransactionQueriesBounded(t *testing.T) {
	const n = 2000
	key := func(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }
	r := newRig(t)
	var ops []turn.Op
	for i := range n {
		ops = append(ops, &turn.SetString{Key: key(fmt.Sprintf("s%05d", i))})
	}
	set, list := &turn.SetScores{Key: key("z")}, &turn.Append{Key: key("l")}
	for i := range n {
		set.Members = append(set.Members, turn.Score{Member: fmt.Sprintf("%05d", i), Score: float64(i)})
		list.Messages = append(list.Messages, turn.NewMessage{Data: []byte("m")})
	}
	big := &turn.SetString{Key: key("big"), Value: make([]byte, 8<<20)}
	r.apply(1, append(ops, set, list, big)...)
	for name, c := range map[string]struct {
		q    turn.Query
		cost int
	}{
		"rank": {&turn.Rank{Key: key("z"), Member: fmt.Sprintf("%05d", n-1)}, n * cost.PassedElement},
		"scores": {&turn.Scores{Key: key("z"), By: turn.ByRank, Start: n / 2, Stop: n / 2},
			n / 2 * cost.PassedElement},
		"list":    {&turn.List{Key: key("l"), Start: n / 2, Stop: n / 2}, n / 2 * cost.Passed},
		"listing": {&turn.Sessions{Namespace: "0", Limit: 1, List: true, Type: turn.TypeStream}, n * cost.PassedKey},
		"answer":  {&turn.GetString{Key: key("big")}, 8 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			tx := &turn.Tx{}
			for range 2 + cost.EntryAllowance()/c.cost/4 {
				tx.Steps = append(tx.Steps, turn.Step{Query: c.q})
			}
			kinds := make(map[turn.Kind]int)
			for _, out := range r.apply(2, tx, tx, tx, tx, tx) {
				for _, s := range out.Result.Steps {
					if s.Err != nil {
						kinds[s.Err.Kind]++
					}
				}
			}
			if kinds[turn.Overloaded] == 0 || len(kinds) != 1 {
				t.Errorf("steps failed: %v", kinds)
			}
			if out := r.apply(2, tx)[0]; out.Err != nil || out.Result.Steps[0].Err != nil {
				t.Errorf("one for itself: %v", out)
			}
		})
	}
}

// What a pop and a search cost is the same in every version: it decides what nodes refuse.
func TestCostsOfPopAndSearch(t *testing.T) {
	r := newRig(t)
	r.fill(8, 10)
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.keys.EndReading()
	h, err := r.m.keys.Find(layout.JoinKey(sessionA))
	if err != nil {
		t.Fatal(err)
	}
	const message = cost.Message + 10
	for _, end := range []turn.Side{turn.Tail, turn.Head, turn.Newest} {
		for _, c := range []struct {
			n    uint64
			left int
			fits bool
		}{{cost.SmallPop, cost.SmallPop, true}, {cost.SmallPop, cost.SmallPop - 1, false}, {5, 5 * message, true},
			{5, 5*message - 1, false},
			{8, 8 * message, true}, {1 << 40, 8 * message, true}, {9, 8*message - 1, false}, {0, 0, true}} {
			r.m.keys.Allowance = cost.Allowance{Left: c.left}
			err := r.m.sessions.AffordPop(h, end, c.n)
			if (err == nil) != c.fits || !c.fits && turn.KindOf(err) != turn.Overloaded {
				t.Errorf("%d messages from end %d, %d left: %v", c.n, end, c.left, err)
			}
			if left := r.m.keys.Allowance.Left; c.fits && left != c.left || !c.fits && c.n > cost.SmallPop &&
				left != 0 {
				t.Errorf("%d messages from end %d, %d left: %d are left after a look at them", c.n, end, c.left, left)
			}
		}
	}
	for left, want := range map[int]int{8 * cost.Passed: 8, 8*cost.Passed - 1: 7, 3*cost.Passed + 5: 3, 1: 0, 0: 0} {
		r.m.keys.Allowance = cost.Allowance{Left: left}
		v, err := r.m.keys.View(h)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		err = r.m.keys.Allowance.SearchList(&v, turn.Tail, h.Count(), func(*layout.Record) bool { seen++; return true })
		if seen != want || (err == nil) != (want == 8) {
			t.Errorf("%d left: a search saw %d messages, want %d: %v", left, seen, want, err)
		}
	}
}

// The payloads that a search passes count, too.
func TestSearchPassesPayloads(t *testing.T) {
	r := newRig(t)
	r.fill(8, 100*cost.PassedBytes)
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	defer r.m.keys.EndReading()
	h, err := r.m.keys.Find(layout.JoinKey(sessionA))
	if err != nil {
		t.Fatal(err)
	}
	for left, want := range map[int]int{8 * (cost.Passed + 100): 8, 8*(cost.Passed+100) - 1: 7,
		2 * (cost.Passed + 100): 2} {
		r.m.keys.Allowance = cost.Allowance{Left: left}
		v, err := r.m.keys.View(h)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		err = r.m.keys.Allowance.SearchList(&v, turn.Tail, h.Count(), func(*layout.Record) bool { seen++; return true })
		if seen != want || (err == nil) != (want == 8) {
			t.Errorf("%d left: a search saw %d messages, want %d: %v", left, seen, want, err)
		}
	}
}
