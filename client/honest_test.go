package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/turn"
)

// Calls that end because the caller wants it say so, and blame neither the node nor the network.
func TestGivenUpByTheCaller(t *testing.T) {
	f := newFake(t, steps(silent(t)))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	s := c.Session("s")
	appendOne := func(ctx context.Context) error { _, err := s.Append(ctx, msg("a")); return err }
	readOne := func(ctx context.Context) error { _, err := s.Last(ctx, 1); return err }
	follow := func(ctx context.Context) error {
		for _, err := range s.Tail(ctx, 17) {
			return err
		}
		return nil
	}
	for _, op := range []struct {
		run  func(context.Context) error
		says string
	}{
		{appendOne, "UNKNOWN_OUTCOME: TURN.APPEND was given up before " + f.addr() +
			" answered; it may have been carried out: context canceled"},
		{readOne, "UNAVAILABLE: TURN.READ was given up before " + f.addr() +
			" answered; nothing was changed: context canceled"},
		{follow, "UNAVAILABLE: the tail ended after seq 17: context canceled"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-f.seen // the request has arrived
			cancel()
		}()
		if err := op.run(ctx); err == nil || err.Error() != op.says {
			t.Errorf("got  %v\nwant %s", err, op.says)
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := follow(ctx); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "reach") {
		t.Errorf("a tail whose context had ended: %v", err)
	}
}

// A closed client says that it is closed, of calls that Close ended and of later ones.
func TestClosedClient(t *testing.T) {
	f := newFake(t, steps(silent(t)))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, RetryFor: time.Hour})
	s := c.Session("s")
	ended := make(chan error, 2)
	go func() { _, err := s.Pop(context.Background(), 1, turn.Newest); ended <- err }()
	<-f.seen
	go func() {
		for _, err := range s.Tail(context.Background(), 3) {
			ended <- err
		}
	}()
	<-f.seen
	c.Close()
	errs := []error{<-ended, <-ended}
	_, err := s.Last(context.Background(), 1)
	errs = append(errs, err)
	_, err = c.Erase(context.Background(), "p")
	errs = append(errs, err)
	for _, err := range s.Tail(context.Background(), 3) {
		errs = append(errs, err)
	}
	for _, err := range errs {
		if e := (*turn.Error)(nil); !errors.As(err, &e) || !errors.Is(err, ErrClosed) ||
			strings.Contains(err.Error(), "reach") || strings.Contains(err.Error(), "no answer") {
			t.Errorf("%v", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count != 2 { // the shared connection, and that of the tail
		t.Errorf("%d connections, some of them after Close", f.count)
	}
}

// A call that waits to be sent again when the client is closed says so, and OnRetry hears of no attempt that is not
// followed by another.
func TestClosedWhileRetrying(t *testing.T) {
	closing := make(chan *Client, 1)
	retries := 0
	f := newFake(t, steps(fails("UNAVAILABLE no leader")))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, RetryFor: time.Hour, OnRetry: func(error, time.Duration) {
		if retries++; retries == 3 {
			(<-closing).Close()
		}
	}})
	closing <- c
	_, err := c.Session("s").Append(t.Context(), msg("a"))
	if !errors.Is(err, ErrClosed) || !turn.Is(err, turn.Unavailable) {
		t.Errorf("%v", err)
	}
	if _, err := c.Session("s").Append(t.Context(), msg("a")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if sent := len(f.requests()); sent != 3 || retries != 3 {
		t.Errorf("%d attempts, %d calls of OnRetry", sent, retries)
	}
}

// A call whose context has ended before it began does not blame the load for it.
func TestContextThatHadEnded(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{"127.0.0.1:1"}})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for _, ctx := range []context.Context{canceled, late} {
		_, err := c.Session("s").Append(ctx, msg("a"))
		if want := "UNAVAILABLE: TURN.APPEND was not sent (" + ctx.Err().Error() + ")"; err == nil ||
			err.Error() != want || !errors.Is(err, ctx.Err()) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// What New and calls reject without asking a server is an error like that of a server.
func TestRejectedHere(t *testing.T) {
	for _, cfg := range []Config{{}, {Addrs: []string{"nowhere"}}, {Addrs: []string{"a:1"}, Namespace: "no spaces"},
		{Addrs: []string{"a:1"}, Username: "ann"}} {
		if _, err := New(cfg); !turn.Is(err, turn.Invalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	c := newTestClient(t, Config{Addrs: []string{"127.0.0.1:1"}})
	for says, q := range map[string]turn.Read{
		"limit must not be negative, is -1":      {From: turn.FromLast, Limit: -1},
		"max_bytes must not be negative, is -2":  {MaxBytes: -2},
		"max_tokens must not be negative, is -3": {MaxTokens: -3},
	} {
		if _, err := c.Session("s").Read(t.Context(), q); err == nil || err.Error() != "INVALID: "+says {
			t.Errorf("%+v: %v, want %s", q, err, says)
		}
	}
	_, err := c.Session("s").Last(t.Context(), -1)
	if err == nil || err.Error() != "INVALID: the number of messages must not be negative, is -1" {
		t.Errorf("Last(-1): %v", err)
	}
}

// OnRetry hears of each attempt that failed and is followed by another, and of no other.
func TestOnRetry(t *testing.T) {
	type call struct {
		err     error
		elapsed time.Duration
	}
	calls := make(chan call, 100)
	f := newFake(t, steps(fails("UNAVAILABLE no leader"), fails("UNAVAILABLE no leader"), appended,
		fails("CONFLICT revision=9 no")))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, RetryFor: long,
		OnRetry: func(err error, elapsed time.Duration) { calls <- call{err, elapsed} }})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Session("s").Append(t.Context(), msg("a")); !turn.Is(err, turn.Conflict) {
		t.Fatal(err)
	}
	if len(calls) != 2 {
		t.Fatalf("%d calls", len(calls))
	}
	first, second := <-calls, <-calls
	if !turn.Is(first.err, turn.Unavailable) || second.elapsed <= first.elapsed {
		t.Errorf("%+v, then %+v", first, second)
	}
}

// A tail tells of its attempts, too, and counts the time from the last answer.
func TestOnRetryOfATail(t *testing.T) {
	nowhere := ports.For(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := 0
	c := newTestClient(t, Config{Addrs: nowhere, RetryFor: long,
		OnRetry: func(err error, elapsed time.Duration) {
			if heard++; heard == 3 {
				cancel()
			}
			if !turn.Is(err, turn.Unavailable) || heard > 1 && elapsed == 0 {
				t.Errorf("%d: %v after %v", heard, err, elapsed)
			}
		}})
	for _, err := range c.Session("s").Tail(ctx, 0) {
		if heard != 3 || !errors.Is(err, context.Canceled) {
			t.Errorf("%d calls, %v", heard, err)
		}
	}
}
