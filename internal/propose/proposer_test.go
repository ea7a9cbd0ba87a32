package propose

import (
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// roomy is disks with room for everything.
type roomy struct{}

func (roomy) Refusal() *turn.Error      { return nil }
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
