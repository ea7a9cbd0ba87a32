package raftstore

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/internal/group"
	"github.com/turnlog/turnlog/internal/propose"
)

// What a leader's duties use is not closed before they are over.
func TestEndOfATermIsAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Node{lead: group.NewKnownLeader("n1"), log: testLogger(),
			writes: &writes{proposer: new(propose.Proposer)}}
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
		n.lead.SetServing(3) // the last that they do
		close(lt.done)
		<-ended
		if serving, _ := n.lead.Serves(); serving != 0 {
			t.Error("the node still serves reads")
		}
	})
}
