package memory

import (
	"context"
	"testing"
	"time"
)

// What is taken is given back to the last byte, to all and to each, and who holds nothing is forgotten.
func TestMemoryIsCounted(t *testing.T) {
	b := New(16)
	for i, c := range []struct {
		who string
		n   int64
		ok  bool
	}{
		{"a", 13, false}, {"a", 12, true}, {"a", 1, false}, {"a", 0, true}, {"b", 5, false}, {"b", 4, true},
		{"c", 1, false},
		{"c", 0, true}, {"a", -1, true}, {"c", 1, true}, {"a", -11, true}, {"b", -4, true}, {"c", -1, true},
	} {
		if got := b.Take(c.who, c.n); got != c.ok {
			t.Errorf("step %d: %s takes %d: %v", i+1, c.who, c.n, got)
		}
	}
	b.Force("a", 20)
	if b.Left() != -4 {
		t.Errorf("%d are left when more was taken than there is", b.Left())
	}
	b.Force("a", -20)
	if b.Left() != 16 || b.Used() != 0 || len(b.held) != 0 {
		t.Errorf("%d of 16 bytes are left, held by %v", b.Left(), b.held)
	}
}

// A request that waits gets what others give back, and no more than its share.
func TestWaitForMemory(t *testing.T) {
	b := New(16)
	b.Take("a", 12)
	if b.TakeWithin(t.Context(), time.Millisecond, "b", 5) {
		t.Error("5 bytes of 4 were taken")
	}
	got := make(chan bool)
	go func() { got <- b.TakeWithin(context.Background(), time.Minute, "b", 5) }()
	for waiting := false; !waiting; {
		b.mu.Lock()
		waiting = b.freed != nil
		b.mu.Unlock()
	}
	b.Take("a", -1)
	if !<-got || b.Left() != 0 {
		t.Errorf("%d bytes are left", b.Left())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if b.TakeWithin(ctx, time.Minute, "b", 1) {
		t.Error("a byte was taken that was not left")
	}
}

func TestWhoPays(t *testing.T) {
	addr := "10.0.0.1:5"
	if a, b := Who("ann", addr), Who("", addr); a != "user ann" || b != "from 10.0.0.1" {
		t.Errorf("%q and %q pay", a, b)
	}
}
