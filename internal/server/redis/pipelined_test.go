package redis

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/wire"
	"github.com/turnlog/turnlog/turn"
)

// leaderless is an engine that refuses the operations on some keys, as if there
// were no leader just then.
type leaderless struct{ Engine }

type refusedCall struct{ done chan struct{} }

func (r refusedCall) Done() <-chan struct{} { return r.done }
func (r refusedCall) Wait() (turn.Result, error) {
	return turn.Result{}, turn.Errorf(turn.Unavailable, "no leader")
}

func (l leaderless) Submit(ctx context.Context, op turn.Op) command.Pending {
	o, isAppend := op.(*turn.Append)
	_, isTx := op.(*turn.Tx)
	if isAppend && strings.HasPrefix(o.Key.Name, "no") || isTx {
		r := refusedCall{make(chan struct{})}
		close(r.done)
		return r
	}
	return l.Engine.Submit(ctx, op)
}

func (l leaderless) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if i, ok := q.(*turn.Info); ok && strings.HasPrefix(i.Key.Name, "no") {
		return turn.Result{}, turn.Errorf(turn.Unavailable, "no leader")
	}
	return l.Engine.Query(ctx, q, c)
}

// A client that sends its whole pipeline again when one reply says that it may is
// told so only if nothing of the pipeline can have taken place.
func TestPipelinesAreNotRepeated(t *testing.T) {
	const again, notAgain = "-LOADING …", "-UNAVAILABLE …"
	s := open(t, Config{Engine: leaderless{openEngine(t, turn.DefaultLimits())}})
	for _, tt := range []struct {
		name     string
		requests []string
		want     []string
	}{
		{"alone", []string{"RPUSH no x"}, []string{again}},
		{"read alone", []string{"LLEN no"}, []string{again}},
		{"after a write", []string{"RPUSH yes x", "RPUSH no x"}, []string{"…", notAgain}},
		{"before a write", []string{"RPUSH no x", "RPUSH yes x"}, []string{notAgain, "…"}},
		{"read after a write", []string{"RPUSH yes x", "LLEN no"}, []string{"…", notAgain}},
		{"read before a write", []string{"LLEN no", "PING", "RPUSH yes x"}, []string{notAgain, "PONG", "…"}},
		{"after a message", []string{"PUBLISH c m", "RPUSH no x"}, []string{"0", notAgain}},
		{"after reads", []string{"LLEN yes", "PING", "RPUSH no x"}, []string{"…", "PONG", again}},
		{"two", []string{"RPUSH no x", "RPUSH no y"}, []string{notAgain, notAgain}},
		{"a transaction", []string{"MULTI", "RPUSH yes x", "EXEC"}, []string{"OK", "QUEUED", again}},
		{"after a transaction", []string{"MULTI", "RPUSH yes x", "EXEC", "RPUSH no x"},
			[]string{"OK", "QUEUED", notAgain, notAgain}},
		{"a native one", []string{"TURN.APPEND no MSG id x"}, []string{notAgain}},
	} {
		for range 20 {
			c := dial(t, s.addr())
			for _, line := range tt.requests {
				c.send(strings.Fields(line)...)
			}
			for i, want := range tt.want {
				if got := show(c.receive()); !like(want, got) {
					t.Errorf("%s: reply %d is %s, want %s", tt.name, i, got, want)
				}
			}
			// What comes when all that has been answered is another matter.
			c.do("RPUSH", "yes", "x")
			if got := show(c.do("RPUSH", "no", "x")); !like(again, got) {
				t.Errorf("%s, and then: %s", tt.name, got)
			}
			c.nc.Close()
		}
	}
}

// A server that stops answers all of a pipeline that has arrived, and everything
// that took place was answered.
func TestShutdownAmidPipeline(t *testing.T) {
	for range 5 {
		e := openEngine(t, turn.DefaultLimits())
		s, stop := openStoppable(t, Config{Engine: e})
		c := dial(t, s.addr())
		const all = 1500
		var sent atomic.Bool
		go func() {
			for range all {
				c.send("RPUSH", "k", strings.Repeat("x", 100))
			}
			c.w.Flush()
			sent.Store(true)
		}()
		answered := 0
		for answered < 10 {
			if _, err := c.r.Next(); err != nil {
				t.Fatal(err)
			}
			answered++
		}
		arrived := sent.Load() // it fits the buffers of the system
		begun := time.Now()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			stop()
		}()
		for {
			v, err := c.r.Next()
			if err != nil {
				break
			}
			if answered++; v.Int != int64(answered) {
				t.Fatalf("reply %d: %s", answered, show(v))
			}
		}
		<-stopped
		r, err := e.Query(t.Context(), &turn.Info{Key: turn.Key{Namespace: "0", Name: "k"}}, command.Linearizable)
		if err != nil || r.Session.Count != uint64(answered) {
			t.Errorf("%d pushes were answered, but %d took place (%v)", answered, r.Session.Count, err)
		}
		if arrived && answered != all && time.Since(begun) < wire.StopTime {
			t.Errorf("%d of %d pushes were answered", answered, all)
		}
	}
}
