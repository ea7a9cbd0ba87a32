package throttle

import (
	"testing"
	"time"
)

func TestPass(t *testing.T) {
	var th Throttle
	now := time.Now()
	for _, step := range []struct {
		after time.Duration
		count int // 0: it is not logged
	}{{0, 1}, {0, 0}, {time.Second - 1, 0}, {1, 3}, {time.Millisecond, 0}, {time.Hour, 2}, {time.Second, 1}} {
		now = now.Add(step.after)
		if count, ok := th.Pass(now); count != step.count || ok != (step.count > 0) {
			t.Fatalf("after %v: %d, %v; want %d", step.after, count, ok, step.count)
		}
	}
}
