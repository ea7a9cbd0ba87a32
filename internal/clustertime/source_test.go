package clustertime

import (
	"testing"
	"time"
)

func TestSource(t *testing.T) {
	clock := &stoppedClock{now: time.UnixMilli(1_000_000)}
	l := NewSource(clock, 900_000, nil)
	if got := l.Now(0); got != 1_000_000 {
		t.Fatalf("at the start it is %d", got)
	}
	clock.now = clock.now.Add(5 * time.Second)
	if got := l.Now(0); got != 1_005_000 {
		t.Fatalf("five seconds later it is %d", got)
	}
	if got := l.Now(2_000_000); got != 2_000_000 {
		t.Fatalf("behind what was applied: %d", got)
	}
	if got := NewSource(clock, 3_000_000, nil).Now(0); got != 3_000_000 {
		t.Fatalf("a wall clock that is behind: %d", got)
	}
	hour := time.Hour
	for _, c := range []struct {
		others []time.Duration
		want   time.Duration
	}{
		{nil, 0},
		{[]time.Duration{time.Second}, 0},
		{[]time.Duration{-hour}, -hour}, // between two, the earlier
		{[]time.Duration{hour}, 0},
		{[]time.Duration{-hour, -hour}, -hour}, // the own one is an hour ahead
		{[]time.Duration{hour, hour}, hour},
		{[]time.Duration{-hour, time.Millisecond}, 0},
		{[]time.Duration{100 * hour, -100 * hour}, 0},
	} {
		if got := correction(c.others); got != c.want {
			t.Errorf("others are %v off: correction %v, want %v", c.others, got, c.want)
		}
	}
}

// A wall clock that jumps after the handshakes, before its node is elected, must
// not take cluster time along: everything with a deadline would expire.
func TestOwnJumpIsNotTheOthers(t *testing.T) {
	for _, jump := range []time.Duration{3 * time.Hour, -3 * time.Hour, 0} {
		now := time.Now()
		then := now.Add(-5 * time.Second)
		var o Offsets
		for id, by := range map[string]time.Duration{"n2": 100 * time.Millisecond, "n3": -50 * time.Millisecond} {
			o.Note(id, by, then)
			noted := o.byID[id]
			noted.wall = noted.wall.Add(-jump) // so that the clock has jumped since
			o.byID[id] = noted
		}
		got := correction(o.Of([]string{"n2", "n3"}, now))
		if off := got + jump; off.Abs() > 100*time.Millisecond {
			t.Errorf("after a jump by %v the correction is %v", jump, got)
		}
	}
}

// stoppedClock is moved by hand.
type stoppedClock struct{ now time.Time }

func (c *stoppedClock) Now() time.Time { return c.now }
