package raftstore

import (
	"testing"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Answers that wait for memory do not keep a node from getting read indexes.
func TestAnswersThatWaitLeaveReadIndexes(t *testing.T) {
	c := newCluster(t, 3, patient)
	defer c.killAll()
	leader, f := c.elect("n1"), c.nodes["n2"]
	eventuallyTrue(t, "the nodes are connected", func() bool { return f.net.Connected("n1") })
	if _, err := leader.Apply(t.Context(), &turn.Append{Key: key("s"),
		Messages: []turn.NewMessage{{Data: make([]byte, 64<<10)}}}); err != nil {
		t.Fatal(err)
	}
	// All of the budget is taken, by the large answers of some moments.
	large := func(turn.Query) (turn.Result, error) {
		return turn.Result{Value: make([]byte, turn.DefaultLimits().ReadBytes)}, nil
	}
	for range 3 {
		ctx, leave := leader.answers.Memory.In(t.Context())
		defer leave()
		if _, err := answers.Make(ctx, &turn.AllFields{}, large); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := codec.EncodeQuery(&turn.Read{Key: key("s")})
	if err != nil {
		t.Fatal(err)
	}
	const kindQuery, handlers, waiting = 1, 256, 32 // as packages requests, peer and answers have them
	for attempt := range 30 {                       // a machine that stalls for 2 s has answers end that wait
		first, others := make(chan struct{}), make(chan struct{}, handlers)
		for i := range handlers { // one after the other; the first waits
			f.net.Send("n1", kindQuery, encoded, func([]byte, error) {
				if i == 0 {
					close(first)
				} else {
					others <- struct{}{}
				}
			})
		}
		rejected, waits := 0, true
		for rejected < handlers-waiting && waits {
			select {
			case <-others:
				rejected++
			case <-first:
				waits = false
			}
		}
		if waits {
			if _, err := f.peers.ReadIndex(t.Context(), "n1"); err != nil {
				t.Errorf("while answers wait for memory: %v", err)
			}
			return
		}
		t.Logf("attempt %d: %d answers were rejected before the first had waited for its time", attempt, rejected)
		for range handlers - 1 - rejected {
			<-others
		}
	}
	t.Error("answers for which there is no room to wait keep their handlers")
}
