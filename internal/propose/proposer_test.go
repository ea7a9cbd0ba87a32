package propose

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// roomy is disks with room for everything.
type roomy struct{}

func (roomy) Refusal() *turn.Error      { return nil }
func (roomy) RefusalOf(int) *turn.Error { return nil }
func (roomy) Admits(codec.Command) bool { return true }
func (roomy) Hear(*turn.Error)          {}

// slowLog is a log that takes entries and tells no outcome until it is released.
type slowLog struct {
	entries  [][]byte
	released chan struct{}
}

func (l *slowLog) Leads(uint64) bool { return true }

func (l *slowLog) Propose(_ uint64, entry []byte) func() ([]fsm.Outcome, *Failure) {
	l.entries = append(l.entries, entry)
	return func() ([]fsm.Outcome, *Failure) {
		<-l.released
		return nil, NotLeader()
	}
}

// leads returns a proposer that leads in a term of a log, and has had its first entry placed.
func leads(t *testing.T, log Log, calls *Calls) *Proposer {
	t.Helper()
	bounds := testBounds()
	bounds.Depth, bounds.Overlap = 4, 1
	p := NewProposer(bounds, calls, roomy{}, 9)
	first, _ := p.Internal([]byte("epoch"))
	p.Begin(NewTerm(1, log, func() int64 { return 1 }), first)
	if !p.step() {
		t.Fatal("the first entry of the term is not proposed")
	}
	p.Placed()
	if p.bytes != 0 {
		t.Fatalf("%d bytes are said to wait behind the first entry", p.bytes)
	}
	return p
}

// The log could refuse an entry, and take the next one. So the next one is handed over only
// when the one before it is in its place in the log.
func TestNextEntryWaitsForItsTurn(t *testing.T) {
	c := newCallTable(t)
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	p := leads(t, log, c.Calls)
	c.add(1)
	if !p.step() {
		t.Fatal("a second entry is not proposed")
	}
	c.add(1)
	for range 3 {
		if p.step() {
			t.Fatal("an entry was proposed while another was not in the log yet")
		}
	}
	p.Placed()
	if !p.step() || len(log.entries) != 3 {
		t.Fatalf("%d of 3 entries were proposed", len(log.entries))
	}
}

// The outcome of one entry says nothing of whether another one has its place in the log.
func TestOutcomeOfAnEntryPlacesNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log appliedLog
		c := newCallTable(t)
		p := NewProposer(testBounds(), c.Calls, roomy{}, 9)
		p.bounds.Depth, p.bounds.Overlap = 4, 1
		p.Begin(NewTerm(1, &log, func() int64 { return 1 }), &Batch{Commands: commands(1),
			Done: func([]fsm.Outcome, *Failure) {}})
		p.step()
		p.Placed()
		c.add(1)
		p.step()
		close(log.applied[0])
		synctest.Wait()
		c.add(1)
		if p.flight != 1 || p.step() {
			t.Errorf("with %d entries in flight, one is proposed before the one before it is in the log", p.flight)
		}
		p.Placed()
		if !p.step() {
			t.Error("no entry is proposed behind those in the log")
		}
		for _, entry := range log.applied[1:] {
			close(entry)
		}
		synctest.Wait()
	})
}

// appliedLog tells the outcome of each entry, of one command, when its channel is closed.
type appliedLog struct{ applied []chan struct{} }

func (l *appliedLog) Leads(uint64) bool { return true }

func (l *appliedLog) Propose(uint64, []byte) func() ([]fsm.Outcome, *Failure) {
	applied := make(chan struct{})
	l.applied = append(l.applied, applied)
	return func() ([]fsm.Outcome, *Failure) {
		<-applied
		return make([]fsm.Outcome, 1), nil
	}
}

// A node that leads no more hands over nothing to the log, and says so.
func TestNothingIsProposedAfterTheTerm(t *testing.T) {
	log := &slowLog{}
	c := newCallTable(t)
	p := NewProposer(testBounds(), c.Calls, roomy{}, 9)
	var got *Failure
	p.Begin(NewTerm(1, deposed{log}, func() int64 { return 1 }), &Batch{Commands: commands(1),
		Done: func(_ []fsm.Outcome, f *Failure) { got = f }})
	p.step()
	if len(log.entries) > 0 || got == nil || !got.Definite || p.Current() != nil {
		t.Errorf("%d entries were proposed; %v; the term goes on: %v", len(log.entries), got, p.Current() != nil)
	}
}

// deposed is the log of a node that leads no more.
type deposed struct{ *slowLog }

func (deposed) Leads(uint64) bool { return false }

// Operations of the leader have numbers of their own, since one whose number is known is skipped, and tell why they
// failed.
func TestInternalOperations(t *testing.T) {
	p := NewProposer(testBounds(), newCallTable(t).Calls, roomy{}, 9)
	var numbers []uint64
	for _, c := range []struct {
		outs []fsm.Outcome
		f    *Failure
		want turn.Kind
	}{
		{outs: []fsm.Outcome{{Result: turn.Result{First: 5}}}, want: turn.None},
		{outs: []fsm.Outcome{{Err: turn.Errorf(turn.Conflict, "it changed")}}, want: turn.Conflict},
		{f: NotLeader(), want: turn.Unavailable},
	} {
		b, wait := p.Internal([]byte("op"))
		numbers = append(numbers, b.Commands[0].Number)
		b.Done(c.outs, c.f)
		if r, err := wait(t.Context()); turn.KindOf(err) != c.want || err == nil && r.First != 5 {
			t.Errorf("%+v, %v, want %v", r, err, c.want)
		}
	}
	if !slices.Equal(numbers, []uint64{1, 2, 3}) {
		t.Errorf("their numbers are %v", numbers)
	}
	_, wait := p.Internal([]byte("op"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := wait(ctx); err == nil {
		t.Error("the wait does not end with its context")
	}
}
