// Package histogram counts durations by upper bounds, in the form that Prometheus has for histograms.
//
// Counting takes a few atomic additions and no lock. A report that is made meanwhile may include a duration in one of
// its figures and not yet in another; its buckets never exceed its count.
package histogram

import (
	"sync/atomic"
	"time"
)

// Durations is a histogram of durations. All methods may be called by any goroutine.
type Durations struct {
	bounds  []time.Duration
	buckets []atomic.Uint64 // by bound, how many are at most that long, and longer than the one before
	count   atomic.Uint64
	nanos   atomic.Int64
}

// New returns an empty histogram; the upper bounds rise.
func New(bounds ...time.Duration) *Durations {
	return &Durations{bounds: bounds, buckets: make([]atomic.Uint64, len(bounds))}
}

// Add counts a duration.
func (d *Durations) Add(t time.Duration) {
	for i, bound := range d.bounds {
		if t <= bound {
			d.buckets[i].Add(1)
			break
		}
	}
	d.nanos.Add(int64(t))
	d.count.Add(1)
}

// Count returns how many were counted.
func (d *Durations) Count() uint64 { return d.count.Load() }

// Total returns all durations together.
func (d *Durations) Total() time.Duration { return time.Duration(d.nanos.Load()) }

// Report is what was counted, in the form that Prometheus has for it.
type Report struct {
	Count   uint64
	Seconds float64 // of all together
	// Buckets are by upper bound, in seconds, how many took no longer.
	Buckets map[float64]uint64
}

// Report returns what was counted. What is added meanwhile may be in a part of it.
func (d *Durations) Report() Report {
	r := Report{Seconds: time.Duration(d.nanos.Load()).Seconds(), Buckets: make(map[float64]uint64, len(d.bounds))}
	for i, bound := range d.bounds {
		r.Count += d.buckets[i].Load()
		r.Buckets[bound.Seconds()] = r.Count
	}
	r.Count = max(r.Count, d.count.Load())
	return r
}
