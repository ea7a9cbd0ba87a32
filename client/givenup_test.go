package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// What was given up while it waits to be sent is in memory until then: it counts as in flight. It once did not, so that
// calls with short deadlines filled the memory while a node was slow.
func TestCallsThatGaveUpAreInFlightUntilTheyAreAnswered(t *testing.T) {
	release := make(chan struct{})
	f := newFake(t, func(_ []string, w *resp.Writer) bool { <-release; return appended(w) })
	const most = 4 << 20
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, Conns: 1, MaxInFlightBytes: most, RetryFor: -1})
	giveUp := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_, err := c.Session("s").Append(ctx, msg(strings.Repeat("x", most/4)))
		return err
	}
	for range 40 {
		if err := giveUp(); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
	}
	conn := c.router.nodes[0].conns[0]
	conn.mu.Lock()
	queued := len(conn.out)
	conn.mu.Unlock()
	if queued > most {
		t.Errorf("%d bytes are queued, of at most %d", queued, most)
	}
	if err := giveUp(); !turn.Is(err, turn.Unavailable) { // it was not sent
		t.Errorf("one more call: %v", err)
	}
	close(release)
	all := msg(strings.Repeat("x", most)) // there may be
	if _, err := c.Session("s").Append(t.Context(), all); err != nil {
		t.Errorf("when all are answered: %v", err)
	}
}

// A connection that ends gives back what those who gave up had in flight over it.
func TestLostConnectionGivesBackWhatWasInFlight(t *testing.T) {
	lose := make(chan struct{})
	f := newFake(t, steps(func(*resp.Writer) bool { <-lose; return false }, appended))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, MaxInFlightBytes: 4096})
	ctx, cancel := context.WithCancel(t.Context())
	gaveUp := make(chan error)
	go func() { _, err := c.Session("s").Append(ctx, msg(strings.Repeat("x", 10_000))); gaveUp <- err }()
	<-f.seen
	cancel()
	if err := <-gaveUp; !turn.Is(err, turn.Unknown) {
		t.Fatalf("error %v", err)
	}
	close(lose)
	if _, err := c.Session("s").Append(t.Context(), msg("y")); err != nil {
		t.Error(err)
	}
}
