package raftstore

import (
	"sync"
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
	const kindQuery, handlers = 1, 256 // of package requests, and as package peer leaves them
	first := make(chan struct{})       // closed when the first read, which waits, has its answer
	var asking sync.WaitGroup
	asking.Add(handlers)
	for i := range handlers { // one after the other, and the read index comes behind them
		f.net.Send("n1", kindQuery, encoded, func([]byte, error) {
			if i == 0 {
				close(first)
			}
			asking.Done()
		})
	}
	for {
		_, err := f.peers.ReadIndex(t.Context(), "n1")
		if err == nil {
			break
		}
		select {
		case <-first:
			t.Fatalf("while answers wait for memory: %v", err)
		default: // others, for which there is no room, have not failed yet
		}
	}
	asking.Wait()
}
