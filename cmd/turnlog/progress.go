package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how far a long command is: a bar on a terminal, else a line
// every few seconds.
type progress struct {
	out   io.Writer
	name  string
	size  int64        // in bytes; 0: not known
	at    func() int64 // bytes so far
	items atomic.Int64 // messages so far

	bar  *progressbar.ProgressBar // nil: not a terminal
	stop chan struct{}
	done sync.WaitGroup
}

// newProgress starts showing; finish ends it.
func newProgress(out io.Writer, name string, size int64, at func() int64) *progress {
	p := &progress{out: out, name: name, size: size, at: at, stop: make(chan struct{})}
	period := 5 * time.Second
	if isTerminal(out) {
		period = 100 * time.Millisecond
		total := size
		if total == 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(out), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription(name), progressbar.OptionClearOnFinish())
	}
	p.done.Go(func() { p.show(period) })
	return p
}

func (p *progress) show(period time.Duration) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
		}
		switch at := p.at(); {
		case p.bar != nil:
			p.bar.Describe(fmt.Sprintf("%s: %d messages", p.name, p.items.Load()))
			p.bar.Set64(at)
		case p.size > 0:
			fmt.Fprintf(p.out, "%s: %d %%, %d messages\n", p.name, 100*at/p.size, p.items.Load())
		default:
			fmt.Fprintf(p.out, "%s: %d messages\n", p.name, p.items.Load())
		}
	}
}

// finish replaces the display by a last line.
func (p *progress) finish(summary string) {
	close(p.stop)
	p.done.Wait()
	if p.bar != nil {
		p.bar.Clear()
	}
	fmt.Fprintf(p.out, "%s: %s\n", p.name, summary)
}

// countingReader counts what was read.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
