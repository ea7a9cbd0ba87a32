package propose

import (
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// roomFor is a log with room for so many bytes beyond what it has stored.
type roomFor struct {
	roomy
	bytes int
}

func (r roomFor) RefusalOf(bytes int) *turn.Error {
	if bytes > r.bytes {
		return turn.Errorf(turn.ReadOnly, "no room for %d bytes", bytes)
	}
	return nil
}

func (roomFor) Admits(codec.Command) bool { return false }

// What has room one by one need not have it together. What has none beside what waits and what is in flight is refused
// when it is offered: an entry for which the log has no room would end the term.
func TestEntriesInFlightShareTheRoom(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	c := newCallTable(t)
	p := leads(t, log, c.Calls)
	p.space = roomFor{bytes: len("epoch") + 100}
	p.bounds.MaxBytes = 1000
	offer := func(n int, internal, ok bool) {
		t.Helper()
		b := &Batch{Commands: commands(1), Bytes: n, internal: internal, Done: func([]fsm.Outcome, *Failure) {}}
		if _, f := p.Offer(b, nil); (f == nil) != ok || f != nil && (!f.Definite || f.Err.Kind != turn.ReadOnly) {
			t.Errorf("a batch of %d bytes beside %d that wait and %d in flight: %v", n, p.bytes, p.flying, f)
		}
	}
	offer(60, false, true)
	offer(41, false, false)
	if !p.step() {
		t.Fatal("nothing is proposed")
	}
	p.Placed()
	offer(41, false, false)
	offer(20, false, true)
	calls := c.add(1) // of 8 bytes
	offer(21, false, false)
	offer(13, true, true) // the leader's own
	if !p.step() || c.pending() > 0 {
		t.Fatal("the batches are not proposed, or the call waits")
	}
	c.want(calls, int(turn.ReadOnly)) // behind 20 and 13 there is room for 7
	if p.flying != len("epoch")+93 || p.bytes != 0 || p.Current() == nil {
		t.Errorf("%d bytes are in flight, %d wait; the term is over: %v", p.flying, p.bytes, p.Current() == nil)
	}
}
