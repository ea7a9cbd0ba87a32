package cli

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// What a retry soon mends is not reported; an outage that lasts is, once.
func TestTrying(t *testing.T) {
	var out strings.Builder
	tr := &trying{out: &out, timeout: 15 * time.Second}
	step := func(elapsed time.Duration, lines int) {
		t.Helper()
		out.Reset()
		tr.again(errors.New("no leader"), elapsed)
		if got := strings.Count(out.String(), "\n"); got != lines {
			t.Errorf("after %v: %q", elapsed, out.String())
		}
	}
	step(10*time.Millisecond, 0)
	step(900*time.Millisecond, 0)
	step(1100*time.Millisecond, 2)
	if text := out.String(); !strings.Contains(text, "no leader") || !strings.Contains(text, "15s (--timeout)") {
		t.Errorf("%q", text)
	}
	step(3*time.Second, 0)
	step(20*time.Millisecond, 0) // a tail had an answer meanwhile
	step(2*time.Second, 2)
}
