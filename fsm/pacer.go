package fsm

import "time"

const (
	// paceShare: a flush that is in no hurry takes the paceShare-th part of the time
	// since the one before began …
	paceShare = 3
	// … and paceMost at most.
	paceMost = time.Second
	// tidyTime is how long the removal of garbageChunk takes that is in no hurry.
	tidyTime = 500 * time.Millisecond
	// paceEvery is how much work is done between looks at the clock.
	paceEvery = 256 << 10
)

// pacer spreads the work of a flush over time. All nodes have the same work to do
// beside the operations that clients wait for; done in one go, it would make those
// wait that come meanwhile.
type pacer struct {
	began time.Time
	over  time.Duration // how long all of the work is to take
	work  int           // all of it, in bytes
	done  int
	next  int // when to look next
	hurry func() bool
}

// newPacer begins to pace work, given how long ago the last began.
func newPacer(work int, since time.Duration, hurry func() bool) *pacer {
	return &pacer{began: time.Now(), over: min(since/paceShare, paceMost), work: work, next: paceEvery, hurry: hurry}
}

// newTidyPacer begins to pace the removal of garbage, each thing of smallCost.
func newTidyPacer(hurry func() bool) *pacer {
	return &pacer{began: time.Now(), over: tidyTime, work: garbageChunk * smallCost, next: paceEvery, hurry: hurry}
}

// did notes work that was done, and waits if it was done too fast.
func (p *pacer) did(n int) {
	if p == nil {
		return
	}
	if p.done += n; p.done < p.next || p.work == 0 {
		return
	}
	p.next = p.done + paceEvery
	due := time.Duration(float64(p.over) * min(1, float64(p.done)/float64(p.work)))
	for ahead := due - time.Since(p.began); ahead > time.Millisecond && !p.hurry(); ahead = due - time.Since(p.began) {
		time.Sleep(min(ahead, 5*time.Millisecond))
	}
}
