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
			r.m.ShortOfSpace(short)
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
