package fsm

import (
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// A watch of a session gets a token for what changes it, and for nothing else; the
// others do not lose theirs when one stops.
func TestWatch(t *testing.T) {
	r := newRig(t)
	got := func(ch <-chan struct{}) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	one, stopOne := r.m.Watch(sessionA)
	two, stopTwo := r.m.Watch(sessionA)
	other, stopOther := r.m.Watch(turn.Key{Namespace: "0", Name: "other"})
	for i := range 2 {
		r.apply(1, appendOf(sessionA, "", "data"))
		if !got(one) || !got(two) || got(other) {
			t.Fatalf("append %d: not exactly the watches of the key were told", i)
		}
	}
	stopOne()
	r.apply(1, &turn.Delete{Keys: []turn.Key{sessionA}})
	if got(one) || !got(two) || got(other) {
		t.Fatal("a deletion: not exactly the watches of the key were told")
	}
	stopTwo()
	stopOther()
	r.apply(1, appendOf(sessionA, "", "data"))
	if got(two) || r.m.keys.watches.some.Load() {
		t.Fatal("no watch is left")
	}
	again, stop := r.m.Watch(sessionA)
	defer stop()
	r.apply(1, appendOf(sessionA, "", "data"))
	if !got(again) {
		t.Fatal("a watch that began after none was left was not told")
	}
}
