package raftstore

import (
	"context"
	"log/slog"
	"testing"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Operations that each pass a long list fit into one entry in part only. Sent together,
// to the leader or to another node, they come in several entries, and none is refused.
func TestSearchesOfLongListsDoNotRefuseEachOther(t *testing.T) {
	c := newCluster(t, 3)
	c.atLevel(turn.Level1)
	leader, other := c.leader(), c.follower()
	thousand := make([]turn.NewMessage, 1000)
	for range turn.DefaultLimits().ForkMessages / len(thousand) {
		if _, err := leader.Apply(t.Context(), &turn.Append{Key: key("s"), Messages: thousand}); err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range map[string]*running{"the leader": leader, "a follower": other} {
		release, err := leader.props.hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var calls []*Call
		for range 30 {
			calls = append(calls, n.Submit(t.Context(), &turn.RemoveElements{Key: key("s"), Data: []byte("none")}))
		}
		release()
		for i, call := range calls {
			if _, err := call.Wait(); err != nil {
				t.Errorf("search %d, sent to %s: %v", i, name, err)
			}
		}
	}
}

// What weighs as much as an entry may hold comes alone, and the leader's own calls and
// those of other nodes take turns then.
func TestHeavyOperationsTakeTurns(t *testing.T) {
	bounds := CallBounds{}
	if err := bounds.setDefaults(); err != nil {
		t.Fatal(err)
	}
	own := newCallTable(t)
	p := newProposer(bounds, own.calls, newDiskSpace(), slog.New(slog.DiscardHandler))
	lt := &leaderTerm{gen: own.gen}
	for range 3 {
		own.submit(context.Background(), []byte("own"), fsm.EntryWeight)
		p.units = append(p.units, &unit{commands: make([]codec.Command, 1), bytes: 8, weight: fsm.EntryWeight})
	}
	var ownFirst, unitsFirst int
	for i := range 6 {
		out := p.gatherLocked(lt)
		switch {
		case out == nil:
			t.Fatalf("entry %d: nothing", i)
		case out.weight != fsm.EntryWeight:
			t.Errorf("entry %d weighs %d of %d", i, out.weight, fsm.EntryWeight)
		case out.local != nil:
			ownFirst++
		default:
			unitsFirst++
		}
		if ownFirst-unitsFirst > 1 || unitsFirst-ownFirst > 1 {
			t.Errorf("after entry %d, %d were the leader's and %d others'", i, ownFirst, unitsFirst)
		}
	}
	if len(p.units) > 0 || own.pending() > 0 {
		t.Errorf("%d units and %d calls are left", len(p.units), own.pending())
	}
}
