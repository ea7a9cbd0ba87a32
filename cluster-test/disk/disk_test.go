package disk

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A fault that was taken back has no effect any more, not even on an operation
// that began before that, if another has met it.
func TestAFaultIsMetOnce(t *testing.T) {
	d := new(Disk)
	d.Set(Faults{})
	var met atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				if d.fails(Sync, "wal/1.seg") {
					met.Add(1)
				}
			}
		})
	}
	const rounds = 20000
	for range rounds {
		d.Set(Faults{Fail: Sync})
		for d.Failed() == "" {
		}
		d.Set(Faults{})
	}
	stop.Store(true)
	all.Wait()
	if met.Load() != rounds {
		t.Errorf("%d faults were met %d times", rounds, met.Load())
	}
}
