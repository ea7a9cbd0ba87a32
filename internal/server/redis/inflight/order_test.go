package inflight

import (
	"slices"
	"strconv"
	"testing"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// pendingWrite is a write that succeeds when the channel is closed.
type pendingWrite chan struct{}

func (p pendingWrite) Done() <-chan struct{}      { return p }
func (p pendingWrite) Wait() (turn.Result, error) { <-p; return turn.Result{}, nil }

func TestOrderOfOneKey(t *testing.T) {
	var o Order
	a, b := turn.Key{Name: "a"}, turn.Key{Name: "b"}
	w1 := make(pendingWrite)
	r1, r2, r3 := &Read{Done: make(chan struct{})}, &Read{Done: make(chan struct{})},
		&Read{Done: make(chan struct{})}
	if o.BeforeWrite(a) != nil {
		t.Error("the first write waits")
	}
	o.NoteWritten(a, w1)
	if o.BeforeRead(b, r2); len(r2.writes)+len(r2.before) > 0 {
		t.Error("a read waits for a write of another key")
	}
	if o.BeforeRead(a, r1); len(r1.writes) != 1 || r1.writes[0] != command.Pending(w1) || len(r1.before) > 0 {
		t.Errorf("a read behind a write waits for %v, %v", r1.writes, r1.before)
	}
	o.BeforeRead(a, r3)
	o.BeforeRead(a, r3) // it names its key twice
	if len(r3.before) != 1 || r3.before[0] != r1 {
		t.Errorf("a read behind another one waits for %v", r3.before)
	}
	if read := o.BeforeWrite(a); read != r3.Done {
		t.Error("a write does not wait for the last read")
	}
}

// A write that is refused at once, since there is no leader, may end before the one that was sent
// ahead of it: a read behind both waits for both.
func TestReadsWaitForAllWrites(t *testing.T) {
	var o Order
	k := turn.Key{Name: "k"}
	first, refused := make(pendingWrite), make(pendingWrite)
	o.NoteWritten(k, first)
	o.NoteWritten(k, refused)
	close(refused)
	r := &Read{Done: make(chan struct{})}
	if o.BeforeRead(k, r); !slices.Contains(r.writes, command.Pending(first)) {
		t.Errorf("a read does not wait for a write in flight, only for %d others", len(r.writes))
	}
	if !slices.Contains(o.Writes, command.Pending(first)) {
		t.Error("what waits for all writes does not wait for one in flight")
	}
	close(first)
	for range 10 {
		o.NoteWritten(k, refused)
	}
	if r = (&Read{Done: make(chan struct{})}); len(o.Writes) > 1 {
		t.Errorf("%d writes are kept that have ended", len(o.Writes))
	}
	if o.BeforeRead(k, r); len(r.writes) > 0 {
		t.Errorf("a read waits for %d writes that have ended", len(r.writes))
	}
}

func TestOrderForgetsWhatEnded(t *testing.T) {
	var o Order
	ended, under := make(pendingWrite), make(pendingWrite)
	close(ended)
	for i := range 10 * pruneAt {
		done := ended
		if i%100 == 0 {
			done = under
		}
		o.NoteWritten(turn.Key{Name: strconv.Itoa(i)}, done)
	}
	if len(o.keys) > pruneAt {
		t.Errorf("%d keys are kept", len(o.keys))
	}
	for i := 0; i < 10*pruneAt; i += 100 {
		if o.keys[turn.Key{Name: strconv.Itoa(i)}] == nil {
			t.Errorf("key %d is forgotten while a write is in flight", i)
		}
	}
}
