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
	of    progressOf
	items atomic.Int64 // messages so far, where progressOf.items does not tell

	bar  *progressbar.ProgressBar // nil: not a terminal
	stop chan struct{}
	done sync.WaitGroup
}

// progressOf is what a progress is made of.
type progressOf struct {
	total int64        // 0: not known
	at    func() int64 // how much of it is done
	bytes bool         // total and at are bytes
	items func() int64 // what else is counted
	unit  string       // what items are
}

// newProgress shows bytes and messages; finish ends it.
func newProgress(out io.Writer, name string, size int64, at func() int64) *progress {
	p := &progress{}
	p.start(out, name, progressOf{total: size, at: at, bytes: true, items: p.items.Load, unit: "messages"})
	return p
}

// startProgress shows anything; finish ends it.
func startProgress(out io.Writer, name string, of progressOf) *progress {
	p := &progress{}
	p.start(out, name, of)
	return p
}

func (p *progress) start(out io.Writer, name string, of progressOf) {
	p.out, p.name, p.of, p.stop = out, name, of, make(chan struct{})
	period := 5 * time.Second
	if isTerminal(out) {
		period = 100 * time.Millisecond
		total := of.total
		if total == 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(out), progressbar.OptionShowBytes(of.bytes),
			progressbar.OptionSetDescription(name), progressbar.OptionClearOnFinish())
	}
	p.done.Go(func() { p.show(period) })
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
		switch at, items := p.of.at(), p.of.items(); {
		case p.bar != nil:
			p.bar.Describe(fmt.Sprintf("%s: %d %s", p.name, items, p.of.unit))
			if p.of.total > 0 {
				at = min(at, p.of.total) // what is moved can grow
			}
			p.bar.Set64(at)
		case p.of.total > 0:
			fmt.Fprintf(p.out, "%s: %d %%, %d %s\n", p.name, 100*at/p.of.total, items, p.of.unit)
		default:
			fmt.Fprintf(p.out, "%s: %d %s\n", p.name, items, p.of.unit)
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
