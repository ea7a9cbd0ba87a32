package fsm

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// On a disk that is short of space the payloads of deleted sessions go with the
// flush; their ids stay, and the state means the same.
func TestPayloadsOfDeletedSessionsGoAtOnce(t *testing.T) {
	for _, short := range []bool{false, true} {
		t.Run(fmt.Sprint("short=", short), func(t *testing.T) {
			r := newRig(t)
			k, data := turn.Key{Namespace: "0", Name: "s"}, bytes.Repeat([]byte("x"), 700)
			appendAt := func(i int) *turn.Append {
				return &turn.Append{Key: k, Messages: []turn.NewMessage{{ID: fmt.Sprint("m", i), Data: data}}}
			}
			for i := range 1500 {
				r.apply(1, appendAt(i))
			}
			if r.m.Unflushed() < 1500*700 {
				t.Errorf("%d bytes are to be flushed", r.m.Unflushed())
			}
			r.flush()
			r.m.ShortOfSpace(short, 64<<20)
			r.apply(2, &turn.Delete{Keys: []turn.Key{k}})
			r.settle()
			if size, _ := r.spaceOf(); short == (size > 1500*700/4) {
				t.Errorf("short of space: %v; the files take %d bytes", short, size)
			}
			r.checkAccount()
			for _, again := range []bool{false, true} {
				if again {
					r.restart()
				}
				if out := r.apply(3, appendAt(1499)); !out[0].Result.Duplicate {
					t.Errorf("restarted %v: the id is not remembered: %+v", again, out)
				}
			}
		})
	}
}

// On a disk that is short of space, files are emptied though most of each is in use, the one
// that is written to as well, and what is moved meanwhile never takes more than half of what
// is left.
func TestFilesAreEmptiedSoonerOnAFullDisk(t *testing.T) {
	for left, freed := range map[uint64]bool{64 << 20: true, 20 << 10: false} {
		t.Run(fmt.Sprint("left=", left), func(t *testing.T) {
			r := newRig(t)
			data := bytes.Repeat([]byte("x"), 700)
			keyOf := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
			for i := range 400 {
				r.apply(1, &turn.Append{Key: keyOf(i), Messages: []turn.NewMessage{{Data: data}}})
			}
			r.settle()
			full, _ := r.spaceOf()
			for i := range 400 {
				if i%3 == 0 {
					r.apply(2, &turn.Delete{Keys: []turn.Key{keyOf(i)}})
				}
			}
			r.settle()
			if size, _ := r.spaceOf(); size < full {
				t.Fatalf("of %d bytes, %d are left before the disk is short of space", full, size)
			}
			before := storeHash(t, r.m)
			r.m.ShortOfSpace(true, left)
			r.settle()
			size, live := r.spaceOf()
			if emptied := size < live+live/4; emptied != freed {
				t.Errorf("the files take %d bytes, of which %d count; they took %d", size, live, full)
			}
			r.checkAccount()
			if got := storeHash(t, r.m); got != before {
				t.Error("emptying files has changed the state")
			}
			r.restart()
			r.checkAccount()
		})
	}
}
