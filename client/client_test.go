package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/ports"
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

func msg(data string) turn.NewMessage { return turn.NewMessage{Data: []byte(data)} }

// TestOutcomes: what becomes of an operation when its attempts end as scripted.
func TestOutcomes(t *testing.T) {
	appendOp := func(ctx context.Context, s Session) error { _, err := s.Append(ctx, msg("a")); return err }
	popOp := func(ctx context.Context, s Session) error { _, err := s.Pop(ctx, 1, turn.Newest); return err }
	cutOp := func(ctx context.Context, s Session) error { _, err := s.Replace(ctx, 1); return err }
	readOp := func(ctx context.Context, s Session) error { _, err := s.Last(ctx, 1); return err }
	const none = turn.Kind(255) // success
	type step = func(*resp.Writer) bool
	for _, c := range []struct {
		name  string
		op    func(context.Context, Session) error
		steps []step
		want  turn.Kind
		sent  int // how many times; 0: until there is no more time
	}{
		{"append, reply lost", appendOp, []step{cut, appended}, none, 2},
		{"append, reply lost twice", appendOp, []step{cut, cut, appended}, none, 3},
		{"append, outcome unknown to the server", appendOp, []step{fails("UNKNOWN_OUTCOME later"), appended}, none, 2},
		{"append, lost and refused by the state", appendOp, []step{cut, fails("CONFLICT revision=9 no")},
			turn.Conflict, 2},
		{"append, lost and id reused", appendOp, []step{cut, fails("ID_REUSED no")}, turn.IDReused, 2},
		{"append, lost and never answered", appendOp, []step{cut, fails("UNAVAILABLE no leader")}, turn.Unknown, 0},
		{"append, lost and then read-only", appendOp, []step{cut, fails("READ_ONLY disk full")}, turn.Unknown, 2},
		{"append, lost and then of another type", appendOp, []step{cut, fails("WRONG_TYPE a hash")}, turn.Unknown, 2},
		{"append, lost and then above a node's limit", appendOp, []step{cut, fails("TOO_LARGE no")}, turn.Unknown, 2},
		{"append, lost and then not understood", appendOp, []step{cut, fails("ERR what")}, turn.Unknown, 2},
		{"append, no leader", appendOp, []step{fails("UNAVAILABLE no leader"), appended}, none, 2},
		{"append, never a leader", appendOp, []step{fails("UNAVAILABLE no leader")}, turn.Unavailable, 0},
		{"append, read-only", appendOp, []step{fails("READ_ONLY disk full")}, turn.ReadOnly, 1},
		{"pop, reply lost", popOp, []step{cut, popped}, turn.Unknown, 1},
		{"pop, outcome unknown to the server", popOp, []step{fails("UNKNOWN_OUTCOME later"), popped}, turn.Unknown, 1},
		{"pop, no leader", popOp, []step{fails("UNAVAILABLE no leader"), popped}, none, 2},
		{"pop, overloaded", popOp, []step{fails("OVERLOADED wait"), fails("LOADING wait"), popped}, none, 3},
		{"pop, answered as something else", popOp, []step{number}, turn.Unknown, 1},
		{"append, answered as something else", appendOp, []step{number}, turn.Unknown, 1},
		{"read, answered as something else", readOp, []step{number}, turn.Unknown, 1},
		{"replace without messages, reply lost", cutOp, []step{cut, appended}, turn.Unknown, 1},
		{"read, reply lost", readOp, []step{cut, popped}, none, 2},
		{"read, never answered", readOp, []step{cut}, turn.Unavailable, 0},
		{"a code of Redis", readOp, []step{fails("ERR unknown command")}, turn.Invalid, 1},
		{"not authenticated", readOp, []step{fails("NOAUTH Authentication required.")}, turn.Unauthorized, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, steps(c.steps...))
			retryFor := long
			if c.sent == 0 {
				retryFor = 300 * time.Millisecond
			}
			client := newTestClient(t, Config{Addrs: []string{f.addr()}, RetryFor: retryFor})
			err := c.op(t.Context(), client.Session("s"))
			switch {
			case c.want == none && err != nil:
				t.Fatalf("error %v", err)
			case c.want != none && !turn.Is(err, c.want):
				t.Fatalf("error %v, want %s", err, c.want)
			}
			sent := f.requests()
			if c.sent != 0 && len(sent) != c.sent || len(sent) == 0 {
				t.Fatalf("sent %d times, want %d: %q", len(sent), c.sent, sent)
			}
			for _, again := range sent[1:] {
				if !slices.Equal(again, sent[0]) {
					t.Fatalf("sent again as %q, first as %q", again, sent[0])
				}
			}
		})
	}
}

func number(w *resp.Writer) bool { w.Int(5); return true }

func TestConflictCarriesRevision(t *testing.T) {
	f := newFake(t, steps(fails("CONFLICT revision=17 the session has changed")))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	_, err := c.Session("s").Expect(16).Append(t.Context(), msg("a"))
	e := (*turn.Error)(nil)
	if !errors.As(err, &e) || e.Kind != turn.Conflict || e.Revision != 17 || e.Message != "the session has changed" {
		t.Fatalf("error %#v", err)
	}
}

func TestIDsAreMintedOnce(t *testing.T) {
	f := newFake(t, steps(appended))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	mine := []turn.NewMessage{{ID: "mine", Data: []byte("a")}, {Data: []byte("b")}, {Data: []byte("c")}}
	for range 2 {
		if _, err := c.Session("s").Append(t.Context(), mine...); err != nil {
			t.Fatal(err)
		}
	}
	if mine[1].ID != "" {
		t.Error("the caller's messages were changed")
	}
	ids := map[string]int{}
	for _, r := range f.requests() {
		for i, a := range r {
			if a == "MSG" {
				ids[r[i+1]]++
			}
		}
	}
	if len(ids) != 5 || ids["mine"] != 2 || ids[""] != 0 {
		t.Errorf("ids %v", ids)
	}
}

func TestContextEnds(t *testing.T) {
	f := newFake(t, steps(silent(t)))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}})
	for _, op := range []struct {
		name string
		run  func(context.Context) error
		want turn.Kind
	}{
		{"append", func(ctx context.Context) error { _, err := c.Session("s").Append(ctx, msg("a")); return err },
			turn.Unknown},
		{"pop", func(ctx context.Context) error { _, err := c.Session("s").Pop(ctx, 1, turn.Head); return err },
			turn.Unknown},
		{"read", func(ctx context.Context) error { _, err := c.Session("s").Last(ctx, 1); return err },
			turn.Unavailable},
		{"info", func(ctx context.Context) error { _, err := c.Session("s").Info(ctx); return err }, turn.Unavailable},
		{"erase", func(ctx context.Context) error { _, err := c.Erase(ctx, "p"); return err }, turn.Unknown},
		{"tail", func(ctx context.Context) error {
			for _, err := range c.Session("s").Tail(ctx, 0) {
				return err
			}
			return nil
		}, turn.Unavailable},
	} {
		t.Run(op.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-f.seen // the request has arrived
				cancel()
			}()
			err := op.run(ctx)
			if !errors.Is(err, context.Canceled) || !turn.Is(err, op.want) {
				t.Fatalf("error %v, want %s and context.Canceled", err, op.want)
			}
		})
	}
}

func TestStalledConnectionIsReplaced(t *testing.T) {
	f := newFake(t, steps(silent(t), silent(t), appended))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, StallTimeout: 50 * time.Millisecond})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
		t.Fatal(err)
	}
	if n := len(f.requests()); n < 3 { // more, if an answer takes as long on a busy machine
		t.Fatalf("%d attempts", n)
	}
}

func TestCloseFailsCalls(t *testing.T) {
	f := newFake(t, steps(silent(t)))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, RetryFor: time.Hour})
	done := make(chan error, 1)
	go func() { _, err := c.Session("s").Pop(context.Background(), 1, turn.Newest); done <- err }()
	<-f.seen
	c.Close()
	if err := <-done; !turn.Is(err, turn.Unknown) {
		t.Fatalf("error %v", err)
	}
	if _, err := c.Session("s").Last(context.Background(), 1); !turn.Is(err, turn.Unavailable) {
		t.Fatalf("after Close: %v", err)
	}
	for _, err := range c.Session("s").Tail(context.Background(), 0) {
		if !turn.Is(err, turn.Unavailable) {
			t.Fatalf("tail after Close: %v", err)
		}
	}
}

// TestManyGoroutines: answers find their callers, over few connections.
func TestManyGoroutines(t *testing.T) {
	f := newFake(t, func(args []string, w *resp.Writer) bool {
		w.Map(1)
		w.BulkString("messages")
		w.Array(1)
		w.Array(4)
		w.Int(1)
		w.Int(1)
		w.BulkString("")
		w.BulkString(args[1] + strings.Repeat(".", len(args[1])%3*20_000)) // the key
		return true
	})
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, Conns: 3})
	var group sync.WaitGroup
	for g := range 200 {
		group.Go(func() {
			for i := range 20 {
				key := fmt.Sprintf("%d-%d", g, i)
				h, err := c.Session(key).Last(t.Context(), 1)
				if err != nil || !strings.HasPrefix(string(h.Messages[0].Data), key) {
					t.Errorf("%s: %v %v", key, h, err)
					return
				}
			}
		})
	}
	group.Wait()
	if f.count > 3 {
		t.Errorf("%d connections", f.count)
	}
}

func TestInFlightIsBounded(t *testing.T) {
	f := newFake(t, steps(silent(t)))
	c := newTestClient(t, Config{Addrs: []string{f.addr()}, MaxInFlightBytes: 4096})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go c.Session("s").Append(ctx, msg(strings.Repeat("x", 10_000))) // takes all there is
	<-f.seen
	second, cancelSecond := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelSecond()
	_, err := c.Session("s").Append(second, msg("y"))
	if !turn.Is(err, turn.Unavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	if len(f.requests()) != 0 {
		t.Fatal("the second request was sent")
	}
}

func TestFailover(t *testing.T) {
	dead := ports.For(t, 1)[0]
	leaderless := newFake(t, steps(fails("UNAVAILABLE no leader")))
	good := newFake(t, steps(appended))
	c := newTestClient(t, Config{Addrs: []string{dead, leaderless.addr(), good.addr()}})
	for range 10 {
		if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(leaderless.requests()); n != 1 {
		t.Errorf("the node without a leader got %d requests, want 1", n)
	}
}

func TestFollowsLeader(t *testing.T) {
	second := newFake(t, steps(appended))
	leader := second.addr()
	first := newFake(t, func(args []string, w *resp.Writer) bool {
		if args[0] == "TURN.CLUSTER" {
			w.BulkString(fmt.Sprintf(`{"leader":"n2","nodes":[{"id":"n2","resp_addr":%q}]}`, leader))
			return true
		}
		return appended(w)
	})
	c := newTestClient(t, Config{Addrs: []string{first.addr()}, FollowLeader: true})
	deadline := time.Now().Add(long)
	for len(second.seen) == 0 {
		if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the leader gets no requests")
		}
	}
	second.close() // the leader dies: the first node must do again
	if _, err := c.Session("s").Append(t.Context(), msg("b")); err != nil {
		t.Fatal(err)
	}
}

// TestWrongNamespaceIsNeverUsed: nothing is sent on a connection whose namespace
// was not confirmed.
func TestWrongNamespaceIsNeverUsed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := make(chan string, 100)
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				r, w := resp.NewRequestReader(nc, resp.Limits{}), resp.NewWriter(nc)
				for {
					args, err := r.Next()
					if err != nil {
						return
					}
					got <- string(args[0])
					if string(args[0]) == "TURN.NS" {
						w.Error("FORBIDDEN not your namespace")
					} else {
						w.Status("OK")
					}
					w.Flush()
				}
			}()
		}
	}()
	c := newTestClient(t, Config{Addrs: []string{l.Addr().String()}, Namespace: "other"})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); !turn.Is(err, turn.Forbidden) {
		t.Fatalf("error %v", err)
	}
	for len(got) > 0 {
		if name := <-got; name == "TURN.APPEND" {
			t.Fatal("an append was sent")
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []Config{{}, {Addrs: []string{"nowhere"}}, {Addrs: []string{"a:1"}, Namespace: "no spaces"}} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// Without a password, requests of a configured user would be sent without authentication.
func TestUserWithoutPasswordIsRefused(t *testing.T) {
	if _, err := New(Config{Addrs: []string{"127.0.0.1:1"}, Username: "ann"}); err == nil ||
		!strings.Contains(err.Error(), "no password") {
		t.Errorf("%v", err)
	}
}

// A prefix that came out empty deletes nothing, and asks no server.
func TestEraseOfEverythingHasItsOwnName(t *testing.T) {
	c, err := New(Config{Addrs: []string{"127.0.0.1:1"}, RetryFor: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Erase(t.Context(), ""); turn.KindOf(err) != turn.Invalid {
		t.Errorf("%v", err)
	}
}

// A call that no node could serve says so of each node, and first what a node answered: the last one that could not be
// reached is not the reason.
func TestUnavailableNamesAllNodes(t *testing.T) {
	leaderless := newFake(t, func(_ []string, w *resp.Writer) bool {
		w.Error("UNAVAILABLE no leader is known")
		return true
	})
	one, other := newFake(t, nil), newFake(t, nil)
	one.close()
	other.close()
	for _, addrs := range [][]string{
		{one.addr(), leaderless.addr(), other.addr()},
		{leaderless.addr(), one.addr(), other.addr()},
		{one.addr(), other.addr()},
	} {
		var last error
		failed := map[string]bool{}
		ctx, cancel := context.WithCancel(t.Context())
		c := newTestClient(t, Config{Addrs: addrs, RetryFor: time.Minute, OnRetry: func(err error, _ time.Duration) {
			for _, a := range addrs {
				says := err.Error()
				if strings.Contains(says, a) || strings.Contains(says, "no leader") && a == leaderless.addr() {
					failed[a] = true
				}
			}
			if len(failed) == len(addrs) {
				cancel()
			}
		}})
		_, last = c.Session("s").Last(ctx, 1)
		cancel()
		if turn.KindOf(last) != turn.Unavailable || !errors.Is(last, context.Canceled) {
			t.Fatalf("%v", last)
		}
		for _, a := range addrs {
			if n := strings.Count(last.Error(), a); n == 0 {
				t.Errorf("%s is not named: %v", a, last)
			}
		}
		if answered := slices.Contains(addrs, leaderless.addr()); answered != strings.HasPrefix(last.Error(),
			"UNAVAILABLE: no leader is known (") {
			t.Errorf("begins with something else: %v", last)
		}
	}
}
