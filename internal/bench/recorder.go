package bench

import (
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/bench/measure"
)

// recorder counts what a load does. It belongs to the goroutine that drives the
// load, but for live.
type recorder struct {
	from, until time.Time // operations that end in this time count
	latency     measure.Histogram
	operations  uint64
	errors      uint64
	first       error // the first error
	live        *Live
	each        func(begun, now time.Time) // is told of every operation, if set
}

// Live is what can be seen of a load while it runs, by any goroutine.
type Live struct {
	Operations, Errors atomic.Uint64
}

func (r *recorder) ended(begun, now time.Time) {
	r.live.Operations.Add(1)
	if r.each != nil {
		r.each(begun, now)
	}
	if now.Before(r.from) || now.After(r.until) {
		return
	}
	r.operations++
	r.latency.Record(now.Sub(begun))
}

func (r *recorder) failed(err error) {
	r.live.Errors.Add(1)
	r.errors++
	if r.first == nil {
		r.first = err
	}
}
