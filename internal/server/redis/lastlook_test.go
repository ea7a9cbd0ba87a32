package redis

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// cutOff is a real engine of a node that hears no news: its state is as it was, and what
// it asks the leader fails while there is none.
type cutOff struct {
	Engine
	leaderless *atomic.Bool
	looked     chan struct{} // a token for each answer
}

func (cutOff) Watch(turn.Key) (<-chan struct{}, func()) { return nil, func() {} }

func (e cutOff) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if e.leaderless.Load() && c.Level == turn.Linearizable {
		return turn.Result{}, turn.Errorf(turn.Unavailable, "no leader")
	}
	r, err := e.Engine.Query(ctx, q, c)
	switch q.(type) {
	case *turn.Info, *turn.Entries, *turn.Read:
		e.looked <- struct{}{}
	}
	return r, err
}

// forget forgets what has been answered.
func (e cutOff) forget() {
	for len(e.looked) > 0 {
		<-e.looked
	}
}

// pausableClock is a clock that can stand still.
type pausableClock struct {
	mu     sync.Mutex
	paused time.Time // zero: it runs
}

func (c *pausableClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused.IsZero() {
		return time.Now()
	}
	return c.paused
}

func (c *pausableClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = time.Now()
}

func (c *pausableClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = time.Time{}
}

// A request whose time is over while it waits for a list is told that there was nothing only
// if that is known of the cluster, and not of the node's own state alone.
func TestBlockingPopLooksOnceMore(t *testing.T) {
	for _, request := range [][]string{
		{"BLPOP", "k", "0.3"}, {"BRPOP", "k", "0.3"}, {"BLMPOP", "0.3", "1", "k", "LEFT"},
		{"BLMOVE", "k", "to", "LEFT", "LEFT", "0.3"},
	} {
		e := cutOff{openEngine(t, turn.DefaultLimits()), new(atomic.Bool), make(chan struct{}, 100)}
		clock := new(pausableClock)
		addr := open(t, Config{Engine: e, Now: clock.Now}).addr()
		c, other := dial(t, addr), dial(t, addr)
		if got := show(c.do(request...)); got != "null" {
			t.Errorf("%q of nothing: %s", request, got)
		}
		e.forget()
		clock.pause() // the time of the request is not over before there is something
		c.block(request...)
		<-e.looked // there is nothing
		other.expect("1", "RPUSH", "k", "v")
		clock.resume()
		if got := show(c.receive()); got == "null" {
			t.Errorf("%q, behind the others: %s", request, got)
		}
		other.expect("0", "LLEN", "k")
		e.forget()
		clock.pause()
		c.block(request...)
		<-e.looked
		e.leaderless.Store(true)
		clock.resume()
		if got := show(c.receive()); !like("-LOADING …", got) {
			t.Errorf("%q, without a leader: %s", request, got)
		}
	}
}

// What follows a stream or a session has a last look likewise.
func TestTailLooksOnceMore(t *testing.T) {
	for _, request := range [][]string{
		{"XREAD", "BLOCK", "300", "STREAMS", "s", "0"}, {"TURN.TAIL", "s", "BLOCK", "300"},
	} {
		e := cutOff{openEngine(t, turn.DefaultLimits()), new(atomic.Bool), make(chan struct{}, 100)}
		clock := new(pausableClock)
		addr := open(t, Config{Engine: e, Now: clock.Now}).addr()
		c, other := dial(t, addr), dial(t, addr)
		other.do("RPUSH", "unrelated", "x") // so that the node has a state
		e.forget()
		clock.pause()
		c.block(request...)
		<-e.looked
		e.leaderless.Store(true)
		clock.resume()
		if got := show(c.receive()); !like("-LOADING …", got) && !like("-UNAVAILABLE …", got) {
			t.Errorf("%q, without a leader: %s", request, got)
		}
	}
}
