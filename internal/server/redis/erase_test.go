package redis

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// occupied is an engine that has no room for long work before the test says so.
type occupied struct {
	Engine
	asked chan struct{}
	room  chan error
}

func (o *occupied) Calm(ctx context.Context) error {
	o.asked <- struct{}{}
	select {
	case err := <-o.room:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A long deletion waits for room after each step, and says how far it got.
func TestDeletionWaitsForRoom(t *testing.T) {
	e := &occupied{openEngine(t, turn.DefaultLimits()), make(chan struct{}), make(chan error)}
	s := open(t, Config{Engine: e})
	c, other := dial(t, s.addr()), dial(t, s.addr())
	const keys = 4*turn.EraseStep + 1
	for i := range keys {
		c.send("SET", strconv.Itoa(i), "x")
	}
	for range keys {
		c.receive()
	}
	flush := func(steps int, last error) {
		left, _ := strconv.Atoi(show(other.do("DBSIZE"))) // before the first step
		c.send("FLUSHDB")
		c.w.Flush()
		for step := range steps {
			select {
			case <-e.asked:
			case <-time.After(20 * time.Second):
				t.Fatal("it does not ask for room")
			}
			other.expect(strconv.Itoa(left-(step+1)*turn.EraseStep), "DBSIZE")
			if step+1 == steps {
				e.room <- last
			} else {
				e.room <- nil
			}
		}
	}
	flush(2, turn.Errorf(turn.Unavailable, "no room"))
	if got := show(c.receive()); !strings.Contains(got, strconv.Itoa(2*turn.EraseStep)+
		" keys were deleted, then: no room") {
		t.Errorf("got %s", got)
	}
	flush(2, nil)
	if got := show(c.receive()); got != "OK" {
		t.Errorf("got %s", got)
	}
	other.expect("0", "DBSIZE")
}

// TestEraseAllIsAskedForTwice: a prefix that came out empty deletes nothing.
func TestEraseAllIsAskedForTwice(t *testing.T) {
	s := open(t, Config{Engine: openEngine(t, turn.DefaultLimits())})
	c := dial(t, s.addr())
	c.expect("1", "RPUSH", "a", "1")
	for _, args := range [][]string{{"PREFIX", ""}, {"PREFIX", "", "NOW"}, {"PREFIX", "", "ALL", "ALL"}, {"PREFIX"}} {
		if got := show(c.do(append([]string{"TURN.ERASE"}, args...)...)); !strings.HasPrefix(got, "-") {
			t.Errorf("%q: %s", args, got)
		}
	}
	c.expect("1", "DBSIZE")
	c.do("TURN.ERASE", "PREFIX", "", "ALL")
	c.expect("0", "DBSIZE")
}
