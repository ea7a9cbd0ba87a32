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
