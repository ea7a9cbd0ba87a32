package propose

import (
	"slices"
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

// What has room one by one need not have it together. What has none is refused by itself: an entry for which the log
// has no room would end the term.
func TestEntriesInFlightShareTheRoom(t *testing.T) {
	log := &slowLog{released: make(chan struct{})}
	defer close(log.released)
	c := newCallTable(t)
	p := leads(t, log, c.Calls)
	p.space = roomFor{bytes: len("epoch") + 100}
	p.bounds.EntryBytes, p.bounds.MaxBytes, p.bounds.Depth = 50, 1000, 10
	var refused []int
	offer := func(n int, internal bool) {
		t.Helper()
		b := &Batch{Commands: commands(1), Bytes: n, internal: internal, Done: func(_ []fsm.Outcome, f *Failure) {
			if f != nil && f.Definite && f.Err.Kind == turn.ReadOnly { // else the log was released, at the end
				refused = append(refused, n)
			}
		}}
		if _, f := p.Offer(b, nil); f != nil {
			t.Fatalf("a batch of %d bytes is refused although there is room: %v", n, f)
		}
	}
	for _, n := range []int{60, 61, 20, 21} {
		offer(n, false)
	}
	offer(30, true) // the leader's own
	for p.step() {
		p.Placed()
	}
	calls := c.add(1)
	if p.step() {
		t.Error("a call is proposed for which there is no room beside what is in flight")
	}
	c.want(calls, int(turn.ReadOnly))
	if !slices.Equal(refused, []int{61, 21}) || len(log.entries) != 3 || p.bytes != 0 {
		t.Errorf("refused are batches of %v bytes; there are %d entries, and %d bytes wait", refused, len(log.entries),
			p.bytes)
	}
	if p.Current() == nil {
		t.Error("the term has ended")
	}
}
