package preference

import (
	"maps"
	"time"
)

const (
	// DefaultSettle is how long a voter must have been able to lead, without a break, before leadership is
	// transferred to it. Each change of the leader within the last Window, but for freeMoves, doubles that, up to
	// MaxSettle.
	DefaultSettle = 10 * time.Second
	MaxSettle     = 10 * time.Minute
	Window        = 10 * time.Minute
	freeMoves     = 2 // as when a leader fails and comes back
	// firstPause is how long a voter is left alone to which a transfer has failed, in units of the settle time. Each
	// further failure within the Window doubles that, up to MaxSettle.
	firstPause = 3
)

// Voter is another voter, as the leader knows it.
type Voter struct {
	ID         string
	Preference int
	Able       bool // to lead, as well as this node
}

// Chooser chooses whom a leader gives way to. One goroutine uses it.
type Chooser struct {
	settle time.Duration
	able   map[string]time.Time // by id, since when
	failed map[string]failure
	moves  []time.Time // when the leader changed, within the last Window
}

// failure is of transfers to a voter.
type failure struct {
	count int
	last  time.Time
}

// New returns a Chooser.
func New(settle time.Duration) *Chooser {
	return &Chooser{settle: settle, able: make(map[string]time.Time), failed: make(map[string]failure)}
}

// Moved notes that the leader changed.
func (c *Chooser) Moved(now time.Time) { c.moves = append(c.recent(now), now) }

// Reset notes that this node does not lead: what it knows of the voters is old when it leads again.
func (c *Chooser) Reset() { clear(c.able) }

// Choose takes what the leader knows of the other voters now, each named once, and returns to which of them it should
// transfer leadership: of those that are preferred to it and have been able to lead for long enough, the one that is
// preferred most, and the first of equal ones. It returns an empty id if there is none.
func (c *Chooser) Choose(now time.Time, own int, voters []Voter) string {
	c.note(now, voters)
	best := Voter{Preference: own}
	for _, v := range voters {
		if since, able := c.able[v.ID]; able && v.Preference > best.Preference && now.Sub(since) >= c.settleTime(now) &&
			!c.paused(now, v.ID) {
			best = v
		}
	}
	return best.ID
}

// note notes since when voters have been able to lead.
func (c *Chooser) note(now time.Time, voters []Voter) {
	able := make(map[string]time.Time, len(voters))
	for _, v := range voters {
		if !v.Able {
			continue
		}
		able[v.ID] = now
		if since, was := c.able[v.ID]; was {
			able[v.ID] = since
		}
	}
	c.able = able
}

// Failed notes that a transfer to a voter has failed.
func (c *Chooser) Failed(now time.Time, id string) {
	maps.DeleteFunc(c.failed, func(_ string, f failure) bool { return now.Sub(f.last) > 2*Window })
	delete(c.able, id)
	c.failed[id] = failure{c.failed[id].count + 1, now}
}

func (c *Chooser) paused(now time.Time, id string) bool {
	f, ok := c.failed[id]
	return ok && now.Sub(f.last) < doubled(firstPause*c.settle, f.count-1)
}

// settleTime is how long a voter must have been able to lead.
func (c *Chooser) settleTime(now time.Time) time.Duration {
	c.moves = c.recent(now)
	return doubled(c.settle, len(c.moves)-freeMoves)
}

func (c *Chooser) recent(now time.Time) []time.Time {
	for len(c.moves) > 0 && now.Sub(c.moves[0]) > Window {
		c.moves = c.moves[1:]
	}
	return c.moves
}

// doubled returns d, doubled so many times, and at most MaxSettle.
func doubled(d time.Duration, times int) time.Duration {
	for ; times > 0 && d < MaxSettle; times-- {
		d *= 2
	}
	return min(d, MaxSettle)
}
