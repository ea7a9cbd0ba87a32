package signal

import (
	"context"
	"testing"
	"time"
)

// Signals merge while they wait, and one that comes after the receiver took one is kept.
func TestSignalsMerge(t *testing.T) {
	c := New()
	c.Notify()
	c.Notify()
	<-c
	select {
	case <-c:
		t.Fatal("two signals did not merge")
	default:
	}
	c.Notify()
	select {
	case <-c:
	default:
		t.Fatal("a signal was lost")
	}
}

func TestWait(t *testing.T) {
	c := New()
	c.Notify()
	if !Wait(t.Context(), c, 0) {
		t.Error("a change ends no wait")
	}
	if !Wait(t.Context(), nil, time.Nanosecond) {
		t.Error("a wait does not end when its time is over")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Notify()
	if Wait(ctx, c, 0) {
		t.Error("a wait whose context has ended goes on")
	}
}

// A closed channel is told from an open one without waiting.
func TestClosedDoesNotWait(t *testing.T) {
	c := make(chan struct{})
	if Closed(c) {
		t.Error("an open channel is taken for a closed one")
	}
	close(c)
	if !Closed(c) {
		t.Error("a closed channel is taken for an open one")
	}
}
