package raftstore

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// After an attempt with an unknown outcome, a refusal of the next one does not make
// the whole one that surely did not take place.
func TestRefusalAfterAnUnknownOutcome(t *testing.T) {
	for kind, want := range map[turn.Kind]turn.Kind{
		turn.Unavailable: turn.Unknown, turn.Overloaded: turn.Unknown, turn.Internal: turn.Unknown,
		turn.Unknown: turn.Unknown, turn.Exists: turn.Exists, turn.NotFound: turn.NotFound, turn.Invalid: turn.Invalid,
	} {
		kindIs(t, afterUnknown(turn.Errorf(kind, "no")), want)
	}
}

// A change whose outcome is unknown is attempted again. What comes of it then is what the caller is told: that
// it took place, if there is nothing left to do, and never that it did not, unless that is certain.
func TestChangesAreRepeated(t *testing.T) {
	const done = turn.Kind(255)
	for name, x := range map[string]struct {
		change   change
		attempts []turn.Kind
		want     turn.Kind
	}{
		"made at once":                     {change{}, []turn.Kind{done}, done},
		"refused at once":                  {change{}, []turn.Kind{turn.Unavailable}, turn.Unavailable},
		"a member before":                  {change{}, []turn.Kind{turn.Exists}, turn.Exists},
		"no member before":                 {change{Remove: true}, []turn.Kind{turn.NotFound}, turn.NotFound},
		"made again":                       {change{}, []turn.Kind{turn.Unknown, turn.Unknown, done}, done},
		"added by the first":               {change{}, []turn.Kind{turn.Unknown, turn.Exists}, done},
		"removed by the first":             {change{Remove: true}, []turn.Kind{turn.Unknown, turn.NotFound}, done},
		"removed, and there is another":    {change{Remove: true}, []turn.Kind{turn.Unknown, turn.Exists}, turn.Exists},
		"not added, perhaps by the first":  {change{}, []turn.Kind{turn.Unknown, turn.NotFound}, turn.NotFound},
		"refused after an unknown outcome": {change{}, []turn.Kind{turn.Unknown, turn.Unavailable, done}, done},
		"invalid after an unknown outcome": {change{}, []turn.Kind{turn.Unknown, turn.Invalid}, turn.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mc := newMemberChanges(&Node{lead: newKnownLeader("n1")})
				made := 0
				err := mc.repeat(t.Context(), x.change, func() error {
					if made++; made > len(x.attempts) || x.attempts[made-1] == done {
						return nil
					}
					return turn.Errorf(x.attempts[made-1], "no")
				})
				if x.want == done && err != nil || x.want != done && turn.KindOf(err) != x.want ||
					made != len(x.attempts) {
					t.Errorf("the change ends with %v after %d attempts", err, made)
				}
			})
		})
	}
}

// A caller that gives up after an attempt with an unknown outcome is not told that nothing was changed.
func TestChangeThatIsGivenUpIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mc := newMemberChanges(&Node{lead: newKnownLeader("n1")})
		ctx, cancel := context.WithCancel(t.Context())
		made := 0
		kindIs(t, mc.repeat(ctx, change{}, func() error {
			if made++; made == 1 {
				return turn.Errorf(turn.Unknown, "no")
			}
			cancel()
			return turn.Errorf(turn.Unavailable, "no")
		}), turn.Unknown)
	})
}

// What a leader's duties use is not closed before they are over.
func TestEndOfATermIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{lead: newKnownLeader("n1"), log: testLogger(), writes: &writes{proposer: new(propose.Proposer)}}
		ctx, cancel := context.WithCancel(t.Context())
		lt := &leaderTerm{Term: propose.NewTerm(3, nil, nil), stopDuties: cancel, done: make(chan struct{})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.awaitEnd(lt)
		}()
		synctest.Wait()
		if ctx.Err() == nil {
			t.Error("the duties are not stopped")
		}
		select {
		case <-ended:
			t.Error("the duties are not over")
		default:
		}
		n.lead.setServing(3) // the last that they do
		close(lt.done)
		<-ended
		if serving, _ := n.lead.serves(); serving != 0 {
			t.Error("the node still serves reads")
		}
	})
}
