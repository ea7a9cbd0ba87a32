// Package logtest has destinations for the logs of tests: Text gathers what is logged, and Lines passes it on line by
// line. Any goroutine may write to them.
package logtest

import (
	"bytes"
	"sync"
)

// Text gathers what is logged, to be read at any time.
type Text struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (t *Text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

// String returns what was logged so far.
func (t *Text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// Lines passes on each line as it is logged.
type Lines chan string

// Write implements io.Writer.
func (l Lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}
