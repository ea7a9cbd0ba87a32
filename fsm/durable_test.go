package fsm

import (
	"sync"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
)

// What the machine says is durable is what the store ends at, whatever is applied while it is
// written: the log is truncated by that.
func TestDurableIsWhatIsStored(t *testing.T) {
	r := newRig(t)
	for range 20 {
		for range 50 {
			r.apply(1, appendOf(sessionA, "", "x"))
		}
		begun, stop := make(chan struct{}), make(chan struct{})
		var applying sync.WaitGroup
		applying.Go(func() {
			for index := r.index + 1; ; index++ {
				r.m.Apply(index, 1, codec.AppendEntry(nil, 1, nil))
				if index == r.index+1 {
					close(begun)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
		<-begun
		if _, err := r.m.flush(); err != nil {
			t.Fatal(err)
		}
		durable, _ := r.m.Durable()
		close(stop)
		applying.Wait()
		tx, err := r.m.store.Read()
		if err != nil {
			t.Fatal(err)
		}
		stored, _, err := tx.Meta()
		tx.End()
		if err != nil {
			t.Fatal(err)
		}
		if durable != stored.Index {
			t.Fatalf("entry %d is said to be durable, the store ends at entry %d", durable, stored.Index)
		}
		r.index, _ = r.m.Applied()
	}
}
