package bench

import (
	"context"
	"sync"
	"time"

	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/testcluster"
)

// watchEvery is how often a watch looks. A node flushes every few seconds under
// full load, so no two flushes fall between two looks.
const watchEvery = 200 * time.Millisecond

// watch looks at the nodes of a cluster again and again.
type watch struct {
	nodes  []*testcluster.Node
	before []measure.Metrics // by node; nil: not known yet

	mu    sync.Mutex
	looks []look
	busy  []measure.Span // in which a node flushed or took a snapshot

	end  context.CancelFunc
	over sync.WaitGroup
}

// look is what was seen at a moment, of all nodes together but for memory.
type look struct {
	at                 time.Time
	flushes, snapshots int      // since the look before
	rss                []uint64 // by node
}

// startWatch watches nodes until stop.
func startWatch(ctx context.Context, nodes []*testcluster.Node) *watch {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{nodes: nodes, before: make([]measure.Metrics, len(nodes)), end: cancel}
	w.look(ctx)
	w.over.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				w.look(ctx)
			}
		}
	})
	return w
}

// stop ends the watch after a last look.
func (w *watch) stop(ctx context.Context) {
	w.end()
	w.over.Wait()
	w.look(ctx)
}

func (w *watch) look(ctx context.Context) {
	l := look{}
	var busy []measure.Span
	for i, n := range w.nodes {
		l.rss = append(l.rss, measure.ResidentBytes(n.PID()))
		m, err := measure.Scrape(ctx, n.HTTPAddr)
		if err != nil {
			continue // it may be down; the next look will tell
		}
		if before := w.before[i]; before != nil {
			for work, count := range map[measure.Work]*int{measure.FlushWork: &l.flushes,
				measure.SnapshotWork: &l.snapshots} {
				times, p := work.Since(before, m)
				if *count += times; times > 0 {
					busy = append(busy, p)
				}
			}
		}
		w.before[i] = m
	}
	l.at = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, l)
	w.busy = append(w.busy, busy...)
}

// seen sums up the looks in a span: flushes, snapshots, and the most memory that
// each node held.
func (w *watch) seen(p measure.Span) look {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := look{rss: make([]uint64, len(w.nodes))}
	for _, l := range w.looks {
		if l.at.Before(p.From) || !l.at.Before(p.To) {
			continue
		}
		sum.flushes += l.flushes
		sum.snapshots += l.snapshots
		for i, n := range l.rss {
			sum.rss[i] = max(sum.rss[i], n)
		}
	}
	return sum
}
