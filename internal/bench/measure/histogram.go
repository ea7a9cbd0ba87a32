package measure

import (
	"math/bits"
	"time"
)

// A histogram counts durations in buckets whose width grows with the duration:
// each power of two is divided into 64, so that a quantile is at most 1.6 % too
// high. Durations below 64 ns are exact.
const (
	subBits = 6
	subs    = 1 << subBits
)

// Histogram counts durations. The zero value is empty. It belongs to one
// goroutine at a time.
type Histogram struct {
	counts [(65 - subBits) * subs]uint64
	total  uint64
	max    time.Duration
}

// Record counts d; negative durations count as 0.
func (h *Histogram) Record(d time.Duration) {
	d = max(d, 0)
	h.counts[bucketOf(uint64(d))]++
	h.total++
	h.max = max(h.max, d)
}

// Total returns how many durations were recorded.
func (h *Histogram) Total() uint64 { return h.total }

// Max returns the longest duration, exactly.
func (h *Histogram) Max() time.Duration { return h.max }

// Add counts everything that other has counted.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.max = max(h.max, other.max)
}

// Quantile returns a duration that the given share of those recorded, 0 to 1,
// does not exceed; 0 if there are none.
func (h *Histogram) Quantile(share float64) time.Duration {
	rank := min(max(uint64(share*float64(h.total)+0.999999), 1), h.total)
	seen := uint64(0)
	for i, n := range h.counts {
		if seen += n; seen >= rank && n > 0 {
			return min(time.Duration(upperEnd(i)), h.max)
		}
	}
	return 0
}

// bucketOf returns the bucket of n: its highest bit chooses the power of two, the
// six bits behind it the place in it.
func bucketOf(n uint64) int {
	if n < subs {
		return int(n)
	}
	shift := bits.Len64(n) - subBits - 1
	return shift<<subBits + int(n>>shift)
}

// upperEnd returns the highest number in a bucket.
func upperEnd(bucket int) uint64 {
	if bucket < 2*subs {
		return uint64(bucket)
	}
	shift := bucket>>subBits - 1
	return uint64(bucket-shift<<subBits+1)<<shift - 1
}
