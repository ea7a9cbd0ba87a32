package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// clockRouter is a router of nodes a, b and c whose clock stands still.
func clockRouter() (r *router, pass func(time.Duration)) {
	now := time.Unix(1e9, 0)
	r = newRouter(&Config{Addrs: []string{"a", "b", "c"}, FollowLeader: true})
	r.now = func() time.Time { return now }
	return r, func(d time.Duration) { now = now.Add(d) }
}

// A node that fails is passed over, for longer each time in a row, and no longer than two seconds.
func TestFailingNodeIsPassedOver(t *testing.T) {
	r, pass := clockRouter()
	a, b, c := r.nodes[0], r.nodes[1], r.nodes[2]
	if r.pick() != a {
		t.Error("the first address is not the first choice")
	}
	b.badUntil, c.badUntil = r.now().Add(time.Hour), r.now().Add(time.Hour)
	for i, want := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000, 2000, 2000, 2000, 2000, 2000} {
		r.failed(a)
		if got := a.badUntil.Sub(r.now()); got != want*time.Millisecond {
			t.Errorf("failure %d: passed over for %v", i+1, got)
		}
	}
	r.worked(a)
	if !a.badUntil.IsZero() {
		t.Error("a node that works is passed over")
	}
	r.failed(a)
	if got := a.badUntil.Sub(r.now()); got != badFirst {
		t.Errorf("after it worked, the first failure counts %v", got)
	}
	b.badUntil = time.Time{}
	if r.pick() != b {
		t.Error("a failing node is preferred to one that never failed")
	}
	r.failed(b)
	pass(badFirst - 1)
	if r.pick() != a || r.current != a {
		t.Error("of nodes that fail it is not the one that failed first")
	}
	pass(1)
	if r.current = b; r.pick() != b {
		t.Error("a node is passed over longer than said")
	}
}

// The leader gets the requests as long as it works; whether it leads is asked by one caller in a period.
func TestLeaderIsAskedFor(t *testing.T) {
	r, pass := clockRouter()
	asks := func(want ...bool) {
		t.Helper()
		for _, w := range want {
			if r.askLeader() != w {
				t.Errorf("asked: %v", !w)
			}
		}
	}
	asks(true, false)
	pass(leaderMissing - 1)
	asks(false)
	pass(1)
	asks(true, false)
	r.learn("b", []string{"b", "d"})
	if len(r.nodes) != 4 || r.pick() != r.nodes[1] {
		t.Error("the leader is not chosen, or its address is there twice")
	}
	pass(leaderKnown - 1)
	asks(false)
	pass(1)
	asks(true, false)
	r.failed(r.nodes[0]) // not the leader
	asks(false)
	r.failed(r.nodes[1])
	asks(true)
	r.learn("b", nil)
	if r.pick() == r.nodes[1] {
		t.Error("a leader that fails is chosen")
	}
	pass(badFirst)
	if r.pick() != r.nodes[1] {
		t.Error("a leader that failed is never chosen again")
	}
	r.learn("", nil)
	if r.leader != nil {
		t.Error("who led before is still chosen")
	}
	r.close()
	r.learn("c", nil)
	pass(time.Hour)
	if asks(false); r.leader != nil {
		t.Error("a closed router learns")
	}
	r, _ = clockRouter()
	r.cfg.FollowLeader = false
	asks(false)
}

func TestAddressesOfClusters(t *testing.T) {
	leader, all := respAddrs(turn.Cluster{Leader: "n2", Nodes: []turn.Node{{ID: "n1", RESPAddr: "a"},
		{ID: "n0"}, {ID: "n2", RESPAddr: "b"}, {ID: "n3", RESPAddr: "c"}}})
	if leader != "b" || !slices.Equal(all, []string{"a", "b", "c"}) {
		t.Errorf("leader %s of %v", leader, all)
	}
}

// The name in a node's certificate is that of its address, unless the configuration has one.
func TestServerName(t *testing.T) {
	cfg := Config{TLS: &tls.Config{}}
	n := newNode("host:7", &cfg)
	if got := n.tlsConfig(); got.ServerName != "host" || cfg.TLS.ServerName != "" {
		t.Errorf("%q, and the configuration has %q", got.ServerName, cfg.TLS.ServerName)
	}
	cfg.TLS.ServerName = "other"
	if n.tlsConfig().ServerName != "other" {
		t.Error("the configured name is not used")
	}
}

// blockedConn is a connection whose server reads nothing.
func blockedConn(t *testing.T) *conn {
	near, far := net.Pipe()
	t.Cleanup(func() { far.Close() })
	return newConn(near, 0)
}

// Of the requests on a connection that ends, those that were not written are known to have had no effect.
func TestUnsentRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := blockedConn(t)
		var calls []*call
		for range 3 {
			go func() {
				more, err := c.send(newRequest(vPop), newRequest(vPop))
				if err != nil {
					t.Error(err)
				}
				calls = append(calls, more...)
			}()
			synctest.Wait()
		}
		if got := c.load(); got != 6 {
			t.Errorf("%d requests without an answer", got)
		}
		waiting := c.waiting
		why := errors.New("over")
		c.close(why)
		for i, cl := range waiting {
			if _, sent, err := cl.wait(context.Background()); sent != (i < 2) || err != why {
				t.Errorf("request %d: sent %v, %v", i, sent, err)
			}
		}
		if _, err := c.send(newRequest(vPop)); err != why || c.load() != -1 {
			t.Errorf("after its end: %v, load %d", err, c.load())
		}
	})
}

// Requests share an idle connection; there are never more connections than configured.
func TestConnectionsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialed := 0
		n := newNode("a:1", &Config{Conns: 2})
		open := func() {
			n.conns = append(n.conns, blockedConn(t))
			dialed++
		}
		open()
		first := n.conns[0]
		if got, err := n.get(t.Context()); got != first || err != nil {
			t.Errorf("an idle connection is not used: %v", err)
		}
		go first.send(newRequest(vPop), newRequest(vPop))
		synctest.Wait()
		open()
		go n.conns[1].send(newRequest(vPop))
		synctest.Wait()
		if got, err := n.get(t.Context()); got != n.conns[1] || err != nil {
			t.Errorf("not the one with the fewest requests: %v", err)
		}
		n.conns[1].close(ErrClosed)
		n.opening = &opening{done: make(chan struct{})}
		if got, err := n.get(t.Context()); got != first || err != nil || len(n.conns) != 1 {
			t.Errorf("while another one is opened: %v; %d are left", err, len(n.conns))
		}
		n.close()
		if _, err := n.get(t.Context()); err != ErrClosed {
			t.Errorf("of a closed node: %v", err)
		}
	})
}
