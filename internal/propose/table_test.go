package propose

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

func commands(n int) []codec.Command { return make([]codec.Command, n) }

// Numbers go on behind calls that have ended, and none is taken twice in a generation.
func TestNumbersGoOn(t *testing.T) {
	c := newCallTable(t)
	told := 0
	c.waiting = func() { told++ }
	calls := c.add(5)
	if told != 5 || c.pending() != 5 {
		t.Errorf("told of %d calls, %d wait", told, c.pending())
	}
	c.took(c.gen, 3)
	c.answered(ok(1))
	if _, got := c.took(c.gen, 9); !slices.Equal(got, []uint64{4, 5}) {
		t.Errorf("took %v after 1 to 3", got)
	}
	c.answered(ok(2, 3, 4, 5))
	calls = append(calls, c.add(1)...)
	if _, got := c.took(c.gen, 9); !slices.Equal(got, []uint64{6}) {
		t.Errorf("took %v after 1 to 5", got)
	}
	c.answered(ok(6))
	c.want(calls, -1, -1, -1, -1, -1, -1)
	if c.pending() != 0 || c.open != 0 || c.bytes != 0 || calls[0].op != nil {
		t.Errorf("%d wait, %d are open with %d bytes", c.pending(), c.open, c.bytes)
	}
}

// A new generation takes calls again, and the one before takes none.
func TestGenerationsEnd(t *testing.T) {
	c := newCallTable(t)
	c.add(2)
	before := c.gen
	c.took(before, 1)
	if after := c.rewind(); after == before {
		t.Fatal("the generation stays")
	}
	if b, _ := c.took(before, 9); b != nil {
		t.Error("the generation before takes calls")
	}
	if _, got := c.took(c.gen, 9); !slices.Equal(got, []uint64{1, 2}) {
		t.Errorf("took %v", got)
	}
	if s := c.Stats(); s.Submitted != 2 || s.Retries != 1 {
		t.Errorf("%+v", s)
	}
}

// Outcomes of other processes, and of calls that are not in the table, resolve none.
func TestOutcomesOfOthers(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(3)
	c.took(c.gen, 3)
	c.answered(ok(1))
	c.Applied([]fsm.Outcome{{Origin: 8, Number: 2}, {Origin: 7, Number: 1}, {Origin: 7, Number: 4},
		{Origin: 7, Number: 0}})
	c.want(calls, -1, -2, -2)
}

// What the node's own state machine says of a call holds, whatever was sent before; so does a leader's success.
func TestOwnStateDecides(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(2)
	c.took(c.gen, 2)
	c.took(c.rewind(), 2)
	failed := ok(1)
	failed[0].Err = turn.Errorf(turn.Conflict, "it changed")
	c.answered(failed)
	c.want(calls, -2, -2)
	c.Applied(failed)
	c.answered(ok(2))
	c.want(calls, int(turn.Conflict), -1)
}

func TestTableHasBounds(t *testing.T) {
	c := newCallTable(t)
	c.bounds.MaxBytes, c.bounds.MaxCalls = 16, 3
	submit := func(n int) int { return ended(c.Submit(context.Background(), make([]byte, n), 0)) }
	for i, want := range []struct{ size, kind int }{
		{8, -2}, {9, int(turn.Overloaded)}, {8, -2}, {0, -2}, {0, int(turn.Overloaded)},
	} {
		if got := submit(want.size); got != want.kind {
			t.Errorf("call %d: %d, want %d", i+1, got, want.kind)
		}
	}
	if c.open != 3 || c.bytes != 16 || c.Stats().Overloaded != 2 {
		t.Errorf("%d are open with %d bytes; %+v", c.open, c.bytes, c.Stats())
	}
	c.took(c.gen, 9)
	c.answered(ok(1, 2, 3))
	if got := submit(100); got != -2 {
		t.Errorf("a large call alone: %d", got)
	}
	c.Close(turn.Errorf(turn.Unavailable, "stopping"))
	if got := submit(0); got != int(turn.Unavailable) || c.open != 1 {
		t.Errorf("after Close: %d, %d are open", got, c.open)
	}
	if f := c.Failed(turn.Errorf(turn.Invalid, "no")); ended(f) != int(turn.Invalid) || c.open != 1 {
		t.Errorf("a failed call counts; %d are open", c.open)
	}
	c.took(c.gen, 9)
	c.Abandon()
	if s := c.Stats(); s.Unknown != 1 || s.Unavailable != 1 {
		t.Errorf("%+v", s)
	}
}

// A batch holds what just fits, of bytes and of weight.
func TestBatchesAreFull(t *testing.T) {
	c := newCallTable(t)
	for _, size := range []int{60, 40, 1} {
		c.Submit(context.Background(), make([]byte, size), 0)
	}
	if b := c.take(c.gen, 9, 100, 9); b == nil || len(b.calls) != 2 || b.bytes != 100 {
		t.Errorf("%+v", b)
	}
	c = newCallTable(t)
	for _, weight := range []int{6, 4, 0, 1} {
		c.Submit(context.Background(), []byte("x"), weight)
	}
	if b := c.take(c.gen, 9, 100, 10); b == nil || len(b.calls) != 3 || b.weight != 10 {
		t.Errorf("%+v", b)
	}
}

// The outcome of a call that was sent is waited for as long as said; a refusal that is not final leaves it to others.
func TestWaitsEndInTime(t *testing.T) {
	c := newCallTable(t)
	calls := c.add(3)
	c.took(c.gen, 2)
	c.now = c.now.Add(c.bounds.LeaderWait - 1)
	c.Sweep()
	c.want(calls, -2, -2, -2)
	c.answered(ok(2)) // behind one that has not ended
	c.now = c.now.Add(1)
	c.Sweep()
	c.want(calls, -2, -1, int(turn.Unavailable))
	c.now = c.now.Add(c.bounds.OutcomeWait - c.bounds.LeaderWait - 1)
	c.Sweep()
	c.want(calls, -2, -1, int(turn.Unavailable))
	if got := c.Oldest(); got != c.bounds.OutcomeWait-1 {
		t.Errorf("the oldest is %v old", got)
	}
	c.now = c.now.Add(1)
	c.Sweep()
	c.want(calls, int(turn.Unknown), -1, int(turn.Unavailable))
	if got := c.Oldest(); got != 0 {
		t.Errorf("without calls the oldest is %v old", got)
	}
}

// A call that was not sent in time ends with why: no leader, or one that waits for the outcome of earlier operations,
// of which the first may be the leader's own.
func TestUnsentCallSaysWhy(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	c := newCallTable(t)
	why := func() string {
		t.Helper()
		call := c.add(1)[0]
		c.now = c.now.Add(c.bounds.LeaderWait)
		c.Sweep()
		if ended(call) != int(turn.Unavailable) {
			t.Fatalf("the call has not ended: %v", call.err)
		}
		return call.err.Error()
	}
	const none, busy = "no leader within", "waits for the outcome of earlier ones"
	if got := why(); !strings.Contains(got, none) {
		t.Errorf("before the node leads: %s", got)
	}
	p := leads(t, log, c.Calls)
	if got := why(); !strings.Contains(got, busy) {
		t.Errorf("behind the first entry of the term: %s", got)
	}
	p.End(p.Current())
	if got := why(); !strings.Contains(got, none) {
		t.Errorf("when the term has ended: %s", got)
	}
	f := &outSession{Forwarder: NewForwarder(testBounds(), c.Calls, nil, roomy{}), gen: c.rewind()}
	if got := why(); !strings.Contains(got, busy) {
		t.Errorf("while another node leads: %s", got)
	}
	over := make(chan struct{})
	close(over)
	f.run(t.Context(), over)
	if got := why(); !strings.Contains(got, none) {
		t.Errorf("when the other node leads no more: %s", got)
	}
}

// entries makes entries of what waits.
func entries(t *testing.T, change func(*Bounds)) (*Proposer, *callTable, func() (local, others int)) {
	c := newCallTable(t)
	bounds := testBounds()
	change(&bounds)
	p := NewProposer(bounds, c.Calls, roomy{}, 9)
	return p, c, func() (local, others int) {
		out := p.gatherLocked(&Term{gen: c.gen})
		if out == nil {
			return 0, 0
		}
		if out.local != nil {
			local = len(out.local.calls)
		}
		return local, len(out.batches)
	}
}

// An entry holds what just fits; where calls of this node wait, batches of others leave them half of its bytes.
func TestEntriesAreFull(t *testing.T) {
	for _, c := range []struct {
		what          string
		bytes         []int // of batches with two commands each
		weight        int   // of each
		own           int   // calls of 8 bytes
		local, others int   // in the first entry
	}{
		{"bytes that just fit", []int{60, 40, 1}, 0, 0, 0, 2},
		{"half of the bytes", []int{30, 20, 1}, 0, 3, 3, 2},
		{"a batch of any size", []int{500, 1}, 0, 1, 0, 1},
		{"a full entry", []int{100}, 0, 1, 0, 1},
		{"commands", []int{1, 1, 1, 1, 1, 1}, 0, 0, 0, 5},
		{"no room for local calls", []int{1, 1, 1, 1, 1}, 0, 2, 0, 5},
		{"room for one local call", []int{1, 1, 1, 1}, 0, 9, 2, 4},
		{"weight that just fits", []int{1, 1, 1}, fsm.EntryWeight / 2, 0, 0, 2},
	} {
		p, table, next := entries(t, func(b *Bounds) { b.EntryBytes, b.EntryCommands = 100, 10 })
		for _, n := range c.bytes {
			p.batches = append(p.batches, &Batch{Commands: commands(2), Bytes: n, Weight: c.weight})
			p.bytes += n
		}
		table.add(c.own)
		local, others := next()
		if local != c.local || others != c.others {
			t.Errorf("%s: %d local calls and %d batches, want %d and %d", c.what, local, others, c.local, c.others)
		}
		left := 0
		for _, b := range p.batches {
			left += b.Bytes
		}
		if p.bytes != left {
			t.Errorf("%s: %d bytes are said to wait, %d do", c.what, p.bytes, left)
		}
	}
}

// What an entry leaves waits for the next one, in order, and local calls that were passed over come first.
func TestPassedCallsComeFirst(t *testing.T) {
	p, table, next := entries(t, func(b *Bounds) { b.EntryBytes = 100 })
	for range 3 {
		p.batches = append(p.batches, &Batch{Commands: commands(1), Bytes: 100})
	}
	table.Submit(context.Background(), make([]byte, 100), 0)
	var got []int
	for range 4 {
		local, others := next()
		got = append(got, local, others)
	}
	if !slices.Equal(got, []int{0, 1, 1, 0, 0, 1, 0, 1}) {
		t.Errorf("entries of %v", got)
	}
	if local, others := next(); local+others > 0 {
		t.Errorf("%d calls and %d batches come twice", local, others)
	}
}

// The bytes of batches that wait are bounded, unless it is one alone, and all are refused when the term ends.
func TestOffersAreBounded(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	c := newCallTable(t)
	p := leads(t, log, c.Calls)
	p.bounds.MaxBytes = 100
	refused := 0
	batch := func(n int) *Batch {
		return &Batch{Commands: commands(1), Bytes: n, Done: func(_ []fsm.Outcome, f *Failure) {
			if f == nil || !f.Definite {
				t.Error("a batch that waited is not refused for good")
			}
			refused++
		}}
	}
	for i, want := range []struct {
		bytes int
		ok    bool
	}{{500, true}, {1, false}, {0, false}} {
		if term, f := p.Offer(batch(want.bytes), nil); (f == nil) != want.ok || want.ok && term != p.Current() {
			t.Errorf("batch %d: %v", i+1, f)
		}
	}
	p.bounds.MaxBytes = 1000
	if _, f := p.Offer(batch(0), NewTerm(1, log, nil)); f == nil || !f.Definite || f.Err.Kind != turn.Unavailable {
		t.Errorf("a batch for another term: %v", f)
	}
	term := p.Current()
	p.End(NewTerm(1, log, nil))
	if p.Current() != term || refused != 0 || term.Ended() {
		t.Error("the end of another term ends this one")
	}
	p.End(term)
	if p.Current() != nil || refused != 1 || p.bytes != 0 || !term.Ended() {
		t.Errorf("at the end of the term %d batches are refused, %d bytes are left", refused, p.bytes)
	}
	if _, f := p.Offer(batch(0), nil); f == nil || !f.Definite {
		t.Error("a batch is taken without a leader")
	}
}

// At most Depth entries are in flight, and a second one waits for as many commands as said.
func TestEntriesInFlightAreBounded(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	c := newCallTable(t)
	p := leads(t, log, c.Calls)
	p.bounds.Depth, p.bounds.Overlap = 3, 2
	c.add(1)
	if p.step() {
		t.Error("one command does not wait for another")
	}
	c.add(1)
	if !p.step() {
		t.Error("two commands wait")
	}
	p.Placed()
	c.add(2)
	if !p.step() {
		t.Error("there are fewer entries than allowed")
	}
	p.Placed()
	c.add(2)
	if p.step() {
		t.Error("there are more entries than allowed")
	}
	if s := p.Stats(); s.Entries != 3 || s.Commands != 5 || s.Bytes == 0 {
		t.Errorf("%+v", s)
	}
	close(log.released)
	if _, err := p.Hold(t.Context()); err != nil || !p.Idle() || p.Current() != nil {
		t.Errorf("in the end: %v; idle %v", err, p.Idle())
	}
}
