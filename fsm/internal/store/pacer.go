package store

import "time"

const (
	// flushShare: a flush that is in no hurry takes the flushShare-th part of the time
	// since the one before began …
	flushShare = 3
	// … and longestFlush at most.
	longestFlush = time.Second
	// tidyTime is how long the removal of GarbageChunk takes that is in no hurry.
	tidyTime = 500 * time.Millisecond
	// pacerStep is how much work is done between looks at the clock.
	pacerStep = 256 << 10
)

// Pacer spreads the work of a flush over time. All nodes have the same work to do
// beside the operations that clients wait for; done in one go, it would make those
// wait that come in that time.
type Pacer struct {
	began time.Time
	over  time.Duration // how long all of the work is to take
	work  int           // all of it, in bytes
	done  int
	next  int // when to look next
	hurry func() bool
}

// NewFlushPacer begins to pace the work of a flush, given how long ago the last began.
func NewFlushPacer(work int, since time.Duration, hurry func() bool) *Pacer {
	return &Pacer{began: time.Now(), over: min(since/flushShare, longestFlush), work: work, next: pacerStep,
		hurry: hurry}
}

// NewTidyPacer begins to pace the removal of garbage, each thing of removalCost.
func NewTidyPacer(hurry func() bool) *Pacer {
	return &Pacer{began: time.Now(), over: tidyTime, work: GarbageChunk * removalCost, next: pacerStep, hurry: hurry}
}

// Did notes work that was done, and waits if it was done too fast.
func (p *Pacer) Did(n int) {
	if p == nil {
		return
	}
	if p.done += n; p.done < p.next || p.work == 0 {
		return
	}
	p.next = p.done + pacerStep
	due := time.Duration(float64(p.over) * min(1, float64(p.done)/float64(p.work)))
	for ahead := due - time.Since(p.began); ahead > time.Millisecond && !p.hurry(); ahead = due - time.Since(p.began) {
		time.Sleep(min(ahead, 5*time.Millisecond))
	}
}
