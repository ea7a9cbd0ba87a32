package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// cutConn is a connection that ends when so many bytes have gone one way.
type cutConn struct {
	net.Conn
	toServer, toClient atomic.Int64 // how many are left
}

func (c *cutConn) Write(p []byte) (int, error) { return c.pass(&c.toServer, p, c.Conn.Write) }
func (c *cutConn) Read(p []byte) (int, error)  { return c.pass(&c.toClient, p, c.Conn.Read) }

func (c *cutConn) pass(left *atomic.Int64, p []byte, f func([]byte) (int, error)) (int, error) {
	n, err := f(p[:min(int64(len(p)), left.Load())])
	if left.Add(int64(-n)) == 0 && err == nil {
		c.Close()
		return n, errors.New("the connection is cut")
	}
	return n, err
}

// cutOnce is a call over a connection that ends; later connections do not.
type cutOnce struct {
	addr     string
	retryFor time.Duration
	answers  bool // the end comes while answers are read
	run      func(*Client, Session) error
}

// at makes the call with a first connection that ends after so many bytes. It reports whether there were fewer.
func (o cutOnce) at(t *testing.T, cut int64, key string) (whole bool, err error) {
	t.Helper()
	first := &cutConn{}
	first.toServer.Store(math.MaxInt64)
	first.toClient.Store(math.MaxInt64)
	left := &first.toServer
	if o.answers {
		left = &first.toClient
	}
	left.Store(cut)
	c := newTestClient(t, Config{Addrs: []string{o.addr}, RetryFor: o.retryFor,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil && first.Conn == nil {
				first.Conn = nc
				return first, nil
			}
			return nc, err
		}})
	err = o.run(c, c.Session(key))
	whole = left.Load() > 0
	c.Close()
	return whole, err
}

// Whatever byte a connection ends after, an error that says that nothing took place is right; and if another
// connection can be opened, what has an id takes place once.
func TestCutAtEachByte(t *testing.T) {
	appendOp := func(_ *Client, s Session) error { _, err := s.Append(t.Context(), msg("a")); return err }
	popOp := func(_ *Client, s Session) error { _, err := s.Pop(t.Context(), 1, turn.Newest); return err }
	commitOp := func(c *Client, s Session) error {
		_, err := c.Transaction().Append(s.Key(), msg("a"), msg("b")).TrimKeep(s.Key(), 3).Commit(t.Context())
		return err
	}
	addr := realServer(t)
	direct := newTestClient(t, Config{Addrs: []string{addr}})
	for _, c := range []struct {
		name  string
		call  cutOnce
		step  int64  // between cuts
		after uint64 // how many messages the session has after the call, of two before
		once  bool   // the call succeeds
	}{
		{"append, request cut", cutOnce{addr, -1, false, appendOp}, 1, 3, false},
		{"append, answer cut", cutOnce{addr, -1, true, appendOp}, 5, 3, false},
		{"append, request cut, retries", cutOnce{addr, long, false, appendOp}, 5, 3, true},
		{"append, answer cut, retries", cutOnce{addr, long, true, appendOp}, 5, 3, true},
		{"pop, request cut", cutOnce{addr, -1, false, popOp}, 1, 1, false},
		{"pop, answer cut, retries", cutOnce{addr, long, true, popOp}, 5, 1, false},
		{"commit, request cut, retries", cutOnce{addr, long, false, commitOp}, 5, 3, true},
		{"commit, answer cut, retries", cutOnce{addr, long, true, commitOp}, 5, 3, true},
	} {
		kinds := map[turn.Kind]int{}
		for cut, whole := int64(1), false; !whole; cut += c.step {
			s := direct.Session(fmt.Sprint(c.name, cut))
			if _, err := s.Append(t.Context(), msg("x"), msg("y")); err != nil {
				t.Fatal(err)
			}
			var err error
			whole, err = c.call.at(t, cut, s.Key())
			kind := turn.KindOf(err)
			kinds[kind]++
			info, infoErr := s.Info(t.Context())
			if infoErr != nil {
				t.Fatal(infoErr)
			}
			right := kind == turn.None && info.Count == c.after ||
				kind == turn.Unavailable && info.Count == 2 && !c.once ||
				kind == turn.Unknown && (info.Count == 2 || info.Count == c.after) && !c.once
			if !right {
				t.Fatalf("%s after %d bytes: %d messages, %v", c.name, cut, info.Count, err)
			}
		}
		if kinds[turn.None] == 0 || c.call.retryFor < 0 && (kinds[turn.Unknown] == 0 || kinds[turn.Unavailable] == 0) {
			t.Errorf("%s: %v", c.name, kinds)
		}
	}
}
