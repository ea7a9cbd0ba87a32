package generator

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/bench/measure"
)

// Recorder counts what a load does. It belongs to the goroutine that drives the
// load, but for live.
type Recorder struct {
	From, Until time.Time // operations that end in this time count
	Latency     measure.Histogram
	Operations  uint64
	Errors      uint64
	First       error // the first error
	Live        *Live
	Each        func(begun, now time.Time) // is told of every operation, if set
}

// Live is what can be seen of a load while it runs, by any goroutine.
type Live struct {
	Operations, Errors atomic.Uint64
}

// Ended counts an operation that succeeded.
func (r *Recorder) Ended(begun, now time.Time) {
	r.Live.Operations.Add(1)
	if r.Each != nil {
		r.Each(begun, now)
	}
	if now.Before(r.From) || now.After(r.Until) {
		return
	}
	r.Operations++
	r.Latency.Record(now.Sub(begun))
}

// Failed counts one that did not.
func (r *Recorder) Failed(err error) {
	r.Live.Errors.Add(1)
	r.Errors++
	if r.First == nil {
		r.First = err
	}
}
