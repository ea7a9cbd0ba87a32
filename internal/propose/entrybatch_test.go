package propose

import (
	"context"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
)

// What weighs as much as an entry may hold comes alone, and the leader's own calls and
// those of other nodes take turns then.
func TestHeavyOperationsTakeTurns(t *testing.T) {
	own := newCallTable(t)
	p := NewProposer(testBounds(), own.Calls, roomy{}, 9)
	term := &Term{gen: own.gen}
	for range 3 {
		own.Submit(context.Background(), []byte("own"), fsm.EntryWeight)
		p.batches = append(p.batches, &Batch{Commands: make([]codec.Command, 1), Bytes: 8, Weight: fsm.EntryWeight})
	}
	var ownFirst, othersFirst int
	for i := range 6 {
		out := p.gatherLocked(term)
		switch {
		case out == nil:
			t.Fatalf("entry %d: nothing", i)
		case out.weight != fsm.EntryWeight:
			t.Errorf("entry %d weighs %d of %d", i, out.weight, fsm.EntryWeight)
		case out.local != nil:
			ownFirst++
		default:
			othersFirst++
		}
		if ownFirst-othersFirst > 1 || othersFirst-ownFirst > 1 {
			t.Errorf("after entry %d, %d were the leader's and %d others'", i, ownFirst, othersFirst)
		}
	}
	if len(p.batches) > 0 || own.pending() > 0 {
		t.Errorf("%d batches and %d calls are left", len(p.batches), own.pending())
	}
}
