package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// tryingAfter is how long a command that is tried again is silent.
const tryingAfter = time.Second

// trying tells a person why a command has not ended yet: once in an outage, when it lasts.
type trying struct {
	out     io.Writer
	timeout time.Duration

	mu   sync.Mutex
	told bool
}

// again is client.Config.OnRetry.
func (t *trying) again(err error, elapsed time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if elapsed < tryingAfter { // another outage than the one that was told of
		t.told = false
		return
	}
	if !t.told {
		t.told = true
		fmt.Fprintf(t.out, "turnlog: %v\nTrying again, for up to %s (--timeout). Ctrl-C ends it.\n", err, t.timeout)
	}
}
