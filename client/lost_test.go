package client

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// TestLostRepliesStoreOnce: whatever answers get lost, each append is stored
// once and in order, whether its goroutine has the session for itself or shares
// it.
func TestLostRepliesStoreOnce(t *testing.T) {
	const writers, rounds = 8, 60
	server := realServer(t)
	proxy := newCutter(t, server, 4)
	c := newTestClient(t, Config{Addrs: []string{proxy.Addr()}, RetryFor: time.Minute})
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range rounds {
				for _, key := range []string{"shared", fmt.Sprint("own-", w)} {
					text := fmt.Sprintf("%d-%d", w, i)
					if _, err := c.Session(key).Append(t.Context(), msg(text+"q"), msg(text+"a")); err != nil {
						t.Errorf("%s: %v", key, err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if cuts := proxy.Lost(); cuts < 50 {
		t.Errorf("only %d answers were lost", cuts)
	}
	direct := newTestClient(t, Config{Addrs: []string{server}})
	shared := map[int]int{} // writer to the rounds seen
	var ms []turn.Message
	for m, err := range direct.Session("shared").All(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		ms = append(ms, m)
	}
	if len(ms) != 2*writers*rounds {
		t.Fatalf("%d messages, want %d", len(ms), 2*writers*rounds)
	}
	for i := 0; i < len(ms); i += 2 {
		var w, round int
		fmt.Sscanf(string(ms[i].Data), "%d-%dq", &w, &round)
		if want := fmt.Sprintf("%d-%d", w, shared[w]); string(ms[i].Data) != want+"q" ||
			string(ms[i+1].Data) != want+"a" {
			t.Fatalf("seq %d: %q, %q, want the turn %s", i+1, ms[i].Data, ms[i+1].Data, want)
		}
		shared[w]++
	}
	for w := range writers {
		h, err := direct.Session(fmt.Sprint("own-", w)).Last(t.Context(), 0)
		if err != nil || h.Count != 2*rounds || h.Last != 2*rounds {
			t.Errorf("own-%d: %d messages up to seq %d, %v", w, h.Count, h.Last, err)
		}
	}
}

// TestLostPops: a pop whose answer is lost is Unknown, and at most one message
// goes for each.
func TestLostPops(t *testing.T) {
	const n = 200
	server := realServer(t)
	direct := newTestClient(t, Config{Addrs: []string{server}})
	s := direct.Session("s")
	for i := range n {
		if _, err := s.Append(t.Context(), msg(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	c := newTestClient(t, Config{Addrs: []string{newCutter(t, server, 5).Addr()}})
	popped, unknown := 0, 0
	for range n / 2 {
		ms, err := c.Session("s").Pop(t.Context(), 1, turn.Newest)
		switch {
		case err == nil && len(ms) == 1:
			popped++
		case turn.Is(err, turn.Unknown):
			unknown++
		default:
			t.Fatalf("%v, %v", ms, err)
		}
	}
	h, err := s.Last(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	gone := n - int(h.Count)
	if unknown == 0 || gone < popped || gone > popped+unknown {
		t.Fatalf("%d are gone after %d pops and %d of unknown outcome", gone, popped, unknown)
	}
}

// TestTailResumes: a tail over a connection that breaks all the time misses
// nothing and repeats nothing, also when the session is made again under it.
func TestTailResumes(t *testing.T) {
	const n, together = 400, 5 // so many messages are appended before the tail has seen those before
	server := realServer(t)
	direct := newTestClient(t, Config{Addrs: []string{server}})
	proxy := newCutter(t, server, 10)
	c := newTestClient(t, Config{Addrs: []string{proxy.Addr()}, RetryFor: time.Minute})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	seen := make(chan struct{}, 2*n/together) // the tail has seen so many messages more
	go func() {
		s := direct.Session("s")
		for _, text := range []string{"first ", "second "} {
			for i := range n {
				s.Append(ctx, msg(fmt.Sprint(text, i)))
				if (i+1)%together == 0 {
					select {
					case <-seen:
					case <-ctx.Done():
					}
				}
			}
			if text == "first " {
				s.Delete(ctx)
			}
		}
	}()
	i := 0
	for m, err := range c.Session("s").Tail(ctx, 0) {
		if err != nil {
			t.Fatalf("after %d messages: %v", i, err)
		}
		want, seq := fmt.Sprint("first ", i), uint64(i+1)
		if i >= n {
			want, seq = fmt.Sprint("second ", i-n), uint64(i-n+1)
		}
		if string(m.Data) != want || m.Seq != seq {
			t.Fatalf("message %d is %q, seq %d; want %q, seq %d", i, m.Data, m.Seq, want, seq)
		}
		if i++; i%together == 0 {
			seen <- struct{}{}
		}
		if i == 2*n {
			break
		}
	}
	if i != 2*n || proxy.Lost() < 5 {
		t.Errorf("%d messages, %d cuts", i, proxy.Lost())
	}
}

// TestTailFromBeyondTheEnd: a seq that the session has not reached comes from an
// earlier session of the same key.
func TestTailFromBeyondTheEnd(t *testing.T) {
	c := newTestClient(t, Config{Addrs: []string{realServer(t)}})
	if _, err := c.Session("s").Append(t.Context(), msg("a")); err != nil {
		t.Fatal(err)
	}
	for m, err := range c.Session("s").Tail(t.Context(), 50) {
		if err != nil || m.Seq != 1 {
			t.Fatalf("%v, %v", m, err)
		}
		break
	}
}
