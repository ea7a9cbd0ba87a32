package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/logtest"
	"github.com/turnlog/turnlog/turn"
)

// hesitant takes a while to answer queries.
type hesitant struct{ Engine }

func (h hesitant) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	<-time.After(60 * time.Millisecond)
	return h.Engine.Query(ctx, q, c)
}

// Of a request that takes long, the log tells what it was, and who made it; a tail is none.
func TestSlowRequestsAreLogged(t *testing.T) {
	lines := make(logtest.Lines, 16)
	d := startServer(t, func(c *Config) {
		c.Engine, c.SlowRequest = hesitant{c.Engine}, 50*time.Millisecond
		c.Logger = slog.New(slog.NewTextHandler(lines, nil))
	})
	d.append("chat", `"one"`)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", "http://"+d.addr+"/v1/sessions/chat/messages/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	tail, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tail.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	tail.Body.Close()
	d.ok("GET", "/v1/sessions/chat/messages", "")
	line := <-lines
	for strings.Contains(line, "method=POST") { // the disk is slow, too
		line = <-lines
	}
	for _, want := range []string{"a request was slow", "method=GET", "route=/v1/sessions/{key}/messages ",
		"namespace=0", "key=chat", "status=200", "client=127.0.0.1:"} {
		if !strings.Contains(line, want) {
			t.Errorf("the log says %q, without %s", line, want)
		}
	}
}
