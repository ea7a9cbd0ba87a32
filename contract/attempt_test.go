package contract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestLate: only what a machine that was stalled explains is blamed on it.
func TestLate(t *testing.T) {
	for _, tt := range []struct {
		err  error
		late bool
	}{
		{nil, false},
		{context.DeadlineExceeded, true},
		{fmt.Errorf("add: %w", context.DeadlineExceeded), true},
		{fmt.Errorf("%w: the case did not end", errLate), true},
		{&violation{}, false},
		{errors.Join(context.DeadlineExceeded, &violation{}), false},
		{errors.New("lost"), false},
	} {
		if got := isLate(tt.err); got != tt.late {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}

// TestPulse: a process that is stopped notices for how long, when it goes on.
func TestPulse(t *testing.T) {
	const stopped = 300 * time.Millisecond
	var p pulse
	p.start()
	waker := exec.Command("sh", "-c",
		fmt.Sprintf("kill -STOP %d; sleep %f; kill -CONT %[1]d", os.Getpid(), stopped.Seconds()))
	if err := waker.Run(); err != nil {
		t.Fatal(err)
	}
	if still := p.stop(); still < stopped*9/10 {
		t.Errorf("stood still for %s", still)
	}
}
