package client

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

type parentKey struct{}

// withParent makes ctx part of a trace, for a Config with parentOf.
func withParent(ctx context.Context, traceparent string) context.Context {
	return context.WithValue(ctx, parentKey{}, traceparent)
}

func parentOf(ctx context.Context) string {
	parent, _ := ctx.Value(parentKey{}).(string)
	return parent
}

// TestTraceparent: each attempt of a call that is part of a trace says so just before, on the same connection. What
// the server says to that, as one that does not know the command, is nothing to the caller.
func TestTraceparent(t *testing.T) {
	var attempts atomic.Int32
	f := newFake(t, func(args []string, w *resp.Writer) bool {
		if args[0] == "TURN.TRACE" {
			w.Error("ERR unknown command")
			return true
		}
		return attempts.Add(1) > 1 && appended(w)
	})
	client := newTestClient(t, Config{Addrs: []string{f.addr()}, Traceparent: parentOf})
	traced := withParent(t.Context(), "00-aa-bb-01")
	r, err := client.Session("s").Append(traced, msg("a"))
	check(t, "append in a trace", err, r.Revision == 7)
	sent := f.requests()
	var commands []string
	for _, args := range sent {
		commands = append(commands, args[0])
	}
	want := []string{"TURN.TRACE", "TURN.APPEND", "TURN.TRACE", "TURN.APPEND"}
	if !slices.Equal(commands, want) || sent[0][1] != "00-aa-bb-01" || !slices.Equal(sent[0], sent[2]) ||
		!slices.Equal(sent[1], sent[3]) {
		t.Errorf("sent %q", sent)
	}
	r, err = client.Session("s").Append(t.Context(), msg("a"))
	check(t, "append outside of traces", err, r.Revision == 7)
	if sent := f.requests(); len(sent) != 1 || sent[0][0] != "TURN.APPEND" {
		t.Errorf("sent %q", sent)
	}
}

// TestTraceparentOnARealServer: the replies go to the calls that they belong to, with many at a time.
func TestTraceparentOnARealServer(t *testing.T) {
	client := newTestClient(t, Config{Addrs: []string{realServer(t)}, Traceparent: parentOf, Conns: 1})
	errs := make(chan error)
	for g := range 16 {
		go func() {
			errs <- func() error {
				ctx, s := t.Context(), client.Session(fmt.Sprint(g))
				for i := range 30 {
					parent := ""
					if i%3 != 0 {
						parent = []string{"nonsense", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}[i%2]
					}
					want := fmt.Sprint(g, i)
					if _, err := s.Append(withParent(ctx, parent), msg(want)); err != nil {
						return err
					}
					h, err := s.Last(withParent(ctx, parent), 1)
					if err != nil || len(h.Messages) != 1 || string(h.Messages[0].Data) != want {
						return fmt.Errorf("the last of %d is %v, %w", i, h.Messages, err)
					}
				}
				return nil
			}()
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	_, err := client.Erase(withParent(t.Context(), "nonsense"), "1")
	check(t, "erase in a trace", err, true)
}

// TestWithoutTracesNothingIsAllocated: neither without the setting, nor for calls outside of traces.
func TestWithoutTracesNothingIsAllocated(t *testing.T) {
	for _, parent := range []func(context.Context) string{nil, parentOf} {
		c := newTestClient(t, Config{Addrs: []string{"127.0.0.1:1"}, Traceparent: parent})
		n := testing.AllocsPerRun(100, func() {
			if c.traceRequest(t.Context()) != nil {
				t.Error("a trace")
			}
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// A server that loses answers: a call in a trace is carried out once, as any other.
func TestTracedRetriesAreStoredOnce(t *testing.T) {
	addr := realServer(t)
	p := newCutter(t, addr, 4)
	client := newTestClient(t, Config{Addrs: []string{p.Addr()}, Traceparent: parentOf, RetryFor: 30 * time.Second})
	ctx := withParent(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	for i := range 60 {
		_, err := client.Session("s").Append(ctx, msg(fmt.Sprint(i)))
		check(t, "append", err, true)
	}
	h, err := newTestClient(t, Config{Addrs: []string{addr}}).Session("s").Read(t.Context(), turn.Read{})
	check(t, "read", err, len(h.Messages) == 60)
}
