package minrate

import (
	"testing"
	"time"
)

// lasts returns how long a client can go on that sends bytes at once and then sends so
// many every pause, up to an hour.
func lasts(slack time.Duration, first int, pause time.Duration, each int) time.Duration {
	began := time.Now()
	d := Begin(began, slack)
	by := d.Next(began, first)
	for now := began.Add(pause); now.Sub(began) < time.Hour; now = now.Add(pause) {
		if now.After(by) {
			return by.Sub(began)
		}
		by = d.Next(now, each)
	}
	return time.Hour
}

// What the other side needed is not the client's, and what it took counts for so long as the rate has it.
func TestDeadlineOfAnAnswer(t *testing.T) {
	began := time.Now()
	d := BeginAt(began, time.Second, 1<<20)
	d.Excuse(time.Hour)
	if by := d.Next(began.Add(time.Hour), 0); by != began.Add(time.Hour+time.Second) {
		t.Errorf("after an excused hour there are %v left", by.Sub(began.Add(time.Hour)))
	}
	now := began.Add(time.Hour + 800*time.Millisecond)
	if by := d.Next(now, 1<<19); by != now.Add(700*time.Millisecond) {
		t.Errorf("for 512 KiB, 200 ms became %v", by.Sub(now))
	}
}

func TestDeadline(t *testing.T) {
	const slack = 20 * time.Second
	for name, c := range map[string]struct {
		first int
		pause time.Duration
		each  int
		want  time.Duration
	}{
		"silence":                  {0, time.Minute, 0, slack},
		"silence after much":       {8 << 20, time.Minute, 0, slack},
		"a byte now and then":      {0, time.Second, 1, slack},
		"the same after much":      {8 << 20, time.Second, 1, slack},
		"half the rate":            {0, time.Second, BytesPerSecond / 2, 2*slack - time.Second/2},
		"the rate":                 {0, time.Second, BytesPerSecond, time.Hour},
		"the rate with pauses":     {0, slack, 20 * BytesPerSecond, time.Hour},
		"pauses that are too long": {0, slack + 1, 1 << 20, slack},
	} {
		if got := lasts(slack, c.first, c.pause,
			c.each); got.Round(100*time.Millisecond) != c.want.Round(100*time.Millisecond) {
			t.Errorf("%s: it lasts %v, want %v", name, got, c.want)
		}
	}
}
