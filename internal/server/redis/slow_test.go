package redis

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/turn"
)

// hesitant answers queries when it gets a token for each, once it is to.
type hesitant struct {
	Engine
	hesitates atomic.Bool
	waiting   atomic.Int32
	tokens    chan struct{}
}

func (h *hesitant) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if h.hesitates.Load() {
		h.waiting.Add(1)
		<-h.tokens
		h.waiting.Add(-1)
	}
	return h.Engine.Query(ctx, q, c)
}

// Of a request that takes long, the log tells what it was, and who made it; a command that waits for others
// is none.
func TestSlowRequestsAreLogged(t *testing.T) {
	lines := make(logtest.Lines, 16)
	e := &hesitant{Engine: openEngine(t, turn.Limits{}), tokens: make(chan struct{})}
	s := open(t, Config{Engine: e, Logger: slog.New(slog.NewTextHandler(lines, nil)),
		SlowRequest: 50 * time.Millisecond})
	c := dial(t, s.addr())
	c.do("BLPOP", "nothing", "0.1")
	if len(lines) > 0 {
		t.Fatalf("a command that waits is logged: %q", <-lines)
	}
	e.hesitates.Store(true)
	c.send("LRANGE", "chat", "0", "-1")
	if err := c.w.Flush(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request has begun", func() bool { return e.waiting.Load() == 1 })
	time.AfterFunc(60*time.Millisecond, func() { e.tokens <- struct{}{} })
	c.receive()
	line := <-lines
	for _, want := range []string{"a request was slow", "command=lrange", "namespace=0", "key=chat", "failed=false",
		"client=127.0.0.1:", "times=1"} {
		if !strings.Contains(line, want) {
			t.Errorf("the log says %q, without %s", line, want)
		}
	}
}
