package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Progress shows how far a long command is: a bar on a terminal, else a line
// every few seconds.
type Progress struct {
	out   io.Writer
	name  string
	of    ProgressOf
	items atomic.Int64 // what Add counted, where ProgressOf.Items does not tell

	bar  *progressbar.ProgressBar // nil: not a terminal
	stop chan struct{}
	done sync.WaitGroup
}

// ProgressOf is what a progress is made of.
type ProgressOf struct {
	Total int64        // 0: not known
	At    func() int64 // how much of it is done
	bytes bool         // Total and at are bytes
	Items func() int64 // what else is counted
	Unit  string       // what items are
}

// NewProgress shows bytes and messages; Finish ends it.
func NewProgress(out io.Writer, name string, size int64, at func() int64) *Progress {
	p := &Progress{}
	p.start(out, name, ProgressOf{Total: size, At: at, bytes: true, Items: p.Items, Unit: "messages"})
	return p
}

// StartProgress shows anything; Finish ends it.
func StartProgress(out io.Writer, name string, of ProgressOf) *Progress {
	p := &Progress{}
	p.start(out, name, of)
	return p
}

// Add counts n more messages.
func (p *Progress) Add(n int) { p.items.Add(int64(n)) }

// Report writes err, after which the command goes on.
func (p *Progress) Report(err error) { fmt.Fprintf(p.out, "turnlog: %v\n", err) }

// Items returns how many messages Add counted.
func (p *Progress) Items() int64 { return p.items.Load() }

func (p *Progress) start(out io.Writer, name string, of ProgressOf) {
	p.out, p.name, p.of, p.stop = out, name, of, make(chan struct{})
	period := 5 * time.Second
	if IsTerminal(out) {
		period = 100 * time.Millisecond
		total := of.Total
		if total == 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(out), progressbar.OptionShowBytes(of.bytes),
			progressbar.OptionSetDescription(name), progressbar.OptionClearOnFinish())
	}
	p.done.Go(func() { p.show(period) })
}

func (p *Progress) show(period time.Duration) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
		}
		switch at, items := p.of.At(), p.of.Items(); {
		case p.bar != nil:
			p.bar.Describe(fmt.Sprintf("%s: %d %s", p.name, items, p.of.Unit))
			if p.of.Total > 0 {
				at = min(at, p.of.Total) // what is moved can grow
			}
			p.bar.Set64(at)
		case p.of.Total > 0:
			fmt.Fprintf(p.out, "%s: %d %%, %d %s\n", p.name, 100*at/p.of.Total, items, p.of.Unit)
		default:
			fmt.Fprintf(p.out, "%s: %d %s\n", p.name, items, p.of.Unit)
		}
	}
}

// Finish replaces the display by a last line.
func (p *Progress) Finish(summary string) {
	close(p.stop)
	p.done.Wait()
	if p.bar != nil {
		p.bar.Clear()
	}
	fmt.Fprintf(p.out, "%s: %s\n", p.name, summary)
}
