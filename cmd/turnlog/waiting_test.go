package main

import (
	"os"
	"strings"
	"testing"
)

// A command without a server says what it waits for, long before it gives up.
func TestSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	addr := freePorts(t, 1)[0]
	for _, args := range [][]string{{"append", "s", "x"}, {"tail", "s", "--after", "0"}} {
		p := startProcess(t, nil, append(args, "--timeout", "10m", "--addr", addr)...)
		p.until("it says so", func() bool {
			return strings.Contains(p.text(), addr) && strings.Contains(p.text(), "for up to 10m0s (--timeout)")
		})
		p.stop(os.Interrupt)
	}
}
