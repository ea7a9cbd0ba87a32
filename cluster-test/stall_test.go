package main

import (
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// What a stalled machine explains is allowed about that time, and nowhere else.
func TestStallsExplainRefusals(t *testing.T) {
	var s stalls
	const second = time.Second
	s.tick(10*second, 10*second+stallTick+tolerable) // late, but not too late
	s.tick(20*second, 21*second)
	all := s.within(0, 60*second)
	if len(all) != 1 || worst(all) != second-stallTick {
		t.Fatalf("the stalls are %v", all)
	}
	for _, x := range []struct {
		from, to time.Duration
		want     int
	}{{0, 20 * second, 0}, {20 * second, 20*second + 30*time.Millisecond, 1}, {21 * second, 30 * second, 0}} {
		if got := s.within(x.from, x.to); len(got) != x.want {
			t.Errorf("from %v to %v: %v", x.from, x.to, got)
		}
	}
	calm := &Scenario{}
	if got := calm.refusals(&history.History{}, nil); len(got) != 0 {
		t.Errorf("allowed in calm: %v", got)
	}
	got := calm.refusals(&history.History{}, all)
	want := lincheck.Refusal{Code: "UNAVAILABLE", From: int64(20*second + stallTick),
		To: int64(21*second + refusalsAfter)}
	if len(got) != 2 || got[0] != want || got[1].Code != "UNKNOWN_OUTCOME" {
		t.Errorf("allowed after a stall: %v", got)
	}
}
