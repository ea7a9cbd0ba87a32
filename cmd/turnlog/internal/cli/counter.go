package cli

import "sync/atomic"

// Counter counts the bytes that are written to it, by io.TeeReader or io.MultiWriter, on their way to
// somewhere else. Any goroutine may ask for the count.
type Counter struct{ n atomic.Int64 }

// Count returns how many bytes were written.
func (c *Counter) Count() int64 { return c.n.Load() }

// Write implements io.Writer.
func (c *Counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
