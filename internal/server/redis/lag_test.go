package redis

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// laggard is a follower that has applied nothing of late: linearizable queries
// are answered by the leader, its own state is as it was at log entry 1.
type laggard struct {
	Engine
	stale  atomic.Int64  // queries of its own state
	looked chan struct{} // told of the leader's answers to reads of messages
}

func (l *laggard) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if c.Level == turn.Linearizable {
		r, err := l.Engine.Query(ctx, q, c)
		if _, ok := q.(*turn.Read); ok {
			select {
			case l.looked <- struct{}{}:
			default:
			}
		}
		return r, err
	}
	l.stale.Add(1)
	r, err := l.Engine.Query(ctx, q, c)
	if _, ok := q.(*turn.Read); ok && r.Session != nil {
		past := *r.Session
		past.Last = 1
		return turn.Result{Session: &past, Index: 1}, err
	}
	return turn.Result{Index: 1}, err
}

// TestLaggingNode: what a command has seen through the leader, it must not
// unlearn when it goes on with the node's own state.
func TestLaggingNode(t *testing.T) {
	e := &laggard{Engine: openEngine(t, turn.Limits{}), looked: make(chan struct{}, 1)}
	s := open(t, Config{Engine: e})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	c.expect("3", "RPUSH", "s", "one", "two", "three")
	c.expect("1", "RPUSH", "t", "x")

	c.expect("2", "EXISTS", "s", "t")

	before := e.stale.Load()
	c.send("TURN.TAIL", "s", "AFTER", "3", "BLOCK", "20000")
	if err := c.w.Flush(); err != nil {
		t.Fatal(err)
	}
	<-e.looked                     // the tail has seen, through the leader, that there is nothing yet
	for e.stale.Load() == before { // until it has looked again
		other.do("RPUSH", "t", "y")
		other.do("RPUSH", "s", "four")
	}
	v := c.receive()
	if len(v.Elems) == 0 || v.Elems[0].Elems[0].Int != 4 {
		t.Errorf("tail after seq 3: %s", show(v))
	}
}
