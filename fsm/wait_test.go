package fsm

import (
	"context"
	"errors"
	"runtime"
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
	r.apply(1, appendOf(turn.Key{Namespace: "0", Name: "other"}, "", "data"))
	if !got(other) || got(two) {
		t.Fatal("an append to the only key that is watched: not exactly its watch was told")
	}
	stopOther()
	r.apply(1, appendOf(sessionA, "", "data"))
	if got(two) || r.m.keys.Watched() {
		t.Fatal("no watch is left")
	}
	again, stop := r.m.Watch(sessionA)
	defer stop()
	r.apply(1, appendOf(sessionA, "", "data"))
	if !got(again) {
		t.Fatal("a watch that began after none was left was not told")
	}
}

// A wait ends with its entry, not with the one before, and with the context; it leaves nothing.
func TestWaitForAnEntry(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.apply(1, appendOf(sessionA, "", "data"))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for index, want := range map[uint64]error{1: nil, 3: nil, 4: context.Canceled, 9: context.Canceled} {
		if err := r.m.WaitApplied(ended, index); !errors.Is(err, want) {
			t.Errorf("entry 3 is applied, entry %d is awaited: %v, want %v", index, err, want)
		}
	}
	if n := len(r.m.waiters.heap); n != 0 {
		t.Errorf("%d that wait no longer are kept", n)
	}
	waits := make(chan error)
	for index := range uint64(3) {
		go func() { waits <- r.m.WaitApplied(t.Context(), 4+index) }()
	}
	for waiting := 0; waiting < 3; runtime.Gosched() {
		r.m.waiters.mu.Lock()
		waiting = len(r.m.waiters.heap)
		r.m.waiters.mu.Unlock()
	}
	r.apply(1, appendOf(sessionA, "", "data"))
	if err := <-waits; err != nil {
		t.Errorf("entry 4 is applied and awaited: %v", err)
	}
	r.m.Note(5, 1)
	if err := <-waits; err != nil {
		t.Errorf("entry 5, of no commands, is passed and awaited: %v", err)
	}
	if err := r.m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err == nil {
		t.Error("entry 6 was awaited, and the machine is closed")
	}
}
