package redis

import (
	"strconv"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

func TestOrderOfOneKey(t *testing.T) {
	var o order
	a, b := turn.Key{Name: "a"}, turn.Key{Name: "b"}
	w1, r1, r2 := make(chan struct{}), make(chan struct{}), make(chan struct{})
	if o.beforeWrite(a) != nil {
		t.Error("the first write waits")
	}
	o.wrote(a, w1)
	if o.beforeRead(b, r2) != nil {
		t.Error("a read waits for a write of another key")
	}
	if o.beforeRead(a, r1) != w1 {
		t.Error("a read does not wait for the write before it")
	}
	if rs := o.beforeWrite(a); len(rs) != 1 || rs[0] != r1 {
		t.Errorf("a write waits for %v", rs)
	}
	close(r1)
	if rs := o.beforeWrite(a); len(rs) != 0 {
		t.Error("a write waits for a read that has ended")
	}
}

func TestOrderForgetsWhatEnded(t *testing.T) {
	var o order
	ended, under := make(chan struct{}), make(chan struct{})
	close(ended)
	for i := range 10 * pruneAt {
		done := ended
		if i%100 == 0 {
			done = under
		}
		o.wrote(turn.Key{Name: strconv.Itoa(i)}, done)
	}
	if len(o.keys) > pruneAt {
		t.Errorf("%d keys are kept", len(o.keys))
	}
	for i := 0; i < 10*pruneAt; i += 100 {
		if o.keys[turn.Key{Name: strconv.Itoa(i)}] == nil {
			t.Errorf("key %d is forgotten while a write is under way", i)
		}
	}
}
