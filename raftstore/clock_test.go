package raftstore

import (
	"testing"
	"time"
)

// A wall clock that jumps after the handshakes, before its node is elected, must
// not take cluster time along: everything with a deadline would expire.
func TestOwnJumpIsNotTheOthers(t *testing.T) {
	for _, jump := range []time.Duration{3 * time.Hour, -3 * time.Hour, 0} {
		now := time.Now()
		then := now.Add(-5 * time.Second)
		var o offsets
		for id, by := range map[string]time.Duration{"n2": 100 * time.Millisecond, "n3": -50 * time.Millisecond} {
			o.note(id, by, then)
			noted := o.byID[id]
			noted.wall = noted.wall.Add(-jump) // so that the clock has jumped since
			o.byID[id] = noted
		}
		got := correction(o.of([]string{"n2", "n3"}, now))
		if off := got + jump; off.Abs() > 100*time.Millisecond {
			t.Errorf("after a jump by %v the correction is %v", jump, got)
		}
	}
}
