package client

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// dialFunc is a Config.Dial.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// piped returns the Dial of a fake that is reached without the network, so that a test can have time of its own.
func piped(t *testing.T, answer func([]string, *resp.Writer) bool) dialFunc {
	f := &fake{t: t, seen: make(chan []string, 1000), greetings: make(chan []string, 10), answer: answer}
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go f.serve(theirs)
		return ours, nil
	}
}

// unreachable is the Dial of a node that does not answer at all.
func unreachable(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Calls that wait for the same connection hear of its failure together: they once tried one after another, and the last
// of thirty waited thirty times DialTimeout before it went to another node.
func TestUnreachableNodeDelaysEachCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := piped(t, steps(appended))
		c := newTestClient(t, Config{Addrs: []string{"dead:1", "good:1"}, DialTimeout: time.Second,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr == "dead:1" {
					return unreachable(ctx, network, addr)
				}
				return good(ctx, network, addr)
			}})
		start := time.Now()
		var calls sync.WaitGroup
		for range 30 {
			calls.Go(func() {
				if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(start); took >= 2*time.Second {
			t.Errorf("the calls took %v", took)
		}
		c.Close()
	})
}

// A call whose context ends while it dials takes no other call along.
func TestCallerThatDialsGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := piped(t, steps(appended))
		c := newTestClient(t, Config{Addrs: []string{"a:1"}, RetryFor: -1,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				time.Sleep(100 * time.Millisecond)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				return good(ctx, network, addr)
			}})
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		first := make(chan error)
		go func() { _, err := c.Session("s").Append(short, msg("a")); first <- err }()
		synctest.Wait() // it dials
		second := make(chan error)
		go func() { _, err := c.Session("s").Append(t.Context(), msg("b")); second <- err }()
		if err := <-first; !errors.Is(err, context.DeadlineExceeded) || !turn.Is(err, turn.Unavailable) {
			t.Errorf("the call that gave up: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the call that waited for the same connection: %v", err)
		}
		c.Close()
	})
}

// A Dial that panics, in a program that recovers, does not keep later calls waiting for its connection.
func TestDialThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := piped(t, steps(appended))
		panics := true
		c := newTestClient(t, Config{Addrs: []string{"a:1"},
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if panics {
					panics = false
					panic("of the program")
				}
				return good(ctx, network, addr)
			}})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic does not reach the caller")
				}
			}()
			c.Session("s").Append(t.Context(), msg("a"))
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Session("s").Append(ctx, msg("a")); err != nil {
			t.Error(err)
		}
		c.Close()
	})
}

// Close ends calls that are connecting, at once.
func TestCloseEndsDials(t *testing.T) {
	calls := map[string]func(context.Context, *Client) error{
		"append": func(ctx context.Context, c *Client) error {
			_, err := c.Session("s").Append(ctx, msg("a"))
			return err
		},
		"erase": func(ctx context.Context, c *Client) error { _, err := c.Erase(ctx, "p"); return err },
		"tail": func(ctx context.Context, c *Client) error {
			for _, err := range c.Session("s").Tail(ctx, 0) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, Config{Addrs: []string{"a:1"}, Dial: unreachable})
			ended := make(chan error)
			go func() { ended <- call(t.Context(), c) }()
			synctest.Wait() // it dials
			start := time.Now()
			c.Close()
			if err := <-ended; !errors.Is(err, ErrClosed) || !turn.Is(err, turn.Unavailable) {
				t.Errorf("%s: %v", name, err)
			}
			if took := time.Since(start); took > 0 {
				t.Errorf("%s ended %v after Close", name, took)
			}
		})
	}
}

// The error of a node that took longer than DialTimeout does not look like the end of the caller's context.
func TestDialTimeoutIsNotTheCallersDeadline(t *testing.T) {
	silentPeer := func(context.Context, string, string) (net.Conn, error) { // takes the connection, and says nothing
		ours, theirs := net.Pipe()
		go io.Copy(io.Discard, theirs)
		return ours, nil
	}
	for name, dial := range map[string]dialFunc{"connecting": unreachable, "handshake": silentPeer} {
		synctest.Test(t, func(t *testing.T) {
			c := newTestClient(t, Config{Addrs: []string{"a:1"}, Dial: dial, RetryFor: -1, DialTimeout: time.Second})
			_, err := c.Session("s").Append(t.Context(), msg("a"))
			if !turn.Is(err, turn.Unavailable) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			c.Close()
		})
	}
}

// A request that takes longer than StallTimeout to be sent is not given up while the node takes it: an append of 1 MiB
// once failed at every attempt over a slow connection.
func TestSlowUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := piped(t, steps(appended))
		c := newTestClient(t, Config{Addrs: []string{"a:1"}, RetryFor: -1,
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				nc, err := good(ctx, network, addr)
				return slowConn{nc}, err
			}})
		start := time.Now()
		if _, err := c.Session("s").Append(t.Context(), turn.NewMessage{Data: make([]byte, 1<<20)}); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 2*c.cfg.StallTimeout {
			t.Errorf("the append took %v only", took)
		}
		c.Close()
	})
}

// slowConn takes 16 KiB in a second.
type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), 16<<10)]
		if len(part) == 16<<10 {
			time.Sleep(time.Second)
		}
		var m int
		m, err = c.Conn.Write(part)
		n, p = n+m, p[m:]
	}
	return n, err
}
