package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/turnlog/turnlog/cluster-test/cluster"
	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// Config configures a Run.
type Config struct {
	Cluster   *cluster.Cluster
	Recorder  *history.Recorder
	Workloads []*Workload
	Workers   int // in all, at least one for each workload
	Seed      uint64
	// Rate is how many calls a second all workers together try to make; 0: as
	// many as they can.
	Rate int
}

// New prepares a Run.
func New(cfg Config) *Run {
	r := &Run{cluster: cfg.Cluster, rec: cfg.Recorder, prefix: tokenPrefix(cfg.Seed)}
	workers := max(cfg.Workers, len(cfg.Workloads))
	if cfg.Rate > 0 {
		r.interval = time.Duration(workers) * time.Second / time.Duration(cfg.Rate)
	}
	for _, wl := range cfg.Workloads {
		r.pools = append(r.pools, newPool(wl))
	}
	for i := range workers {
		p := r.pools[i%len(r.pools)]
		// The workers of one workload take its APIs in turn.
		api := p.w.APIs[i/len(r.pools)%len(p.w.APIs)]
		w := &worker{run: r, workload: p.w, pool: p, apiName: api,
			rand: rand.New(rand.NewPCG(cfg.Seed, uint64(i))), process: r.newProcess()}
		w.user = r.user(i / len(r.pools))
		w.node = r.cluster.Nodes[i%len(r.cluster.Nodes)]
		w.api = w.open()
		r.workers = append(r.workers, w)
	}
	for _, p := range r.pools {
		for i := range p.w.Tailers {
			r.tailers = append(r.tailers, newTailer(r, p, p.w.APIs[i%len(p.w.APIs)], r.user(i), uint64(i)))
		}
		for i := range p.w.Listeners {
			r.listeners = append(r.listeners, newListener(r, p, i))
		}
	}
	return r
}

// Work lets the workers work until ctx ends and waits for their last calls.
func (r *Run) Work(ctx context.Context) error {
	var all sync.WaitGroup
	for _, w := range r.workers {
		all.Go(func() { w.loop(ctx) })
	}
	for _, t := range r.tailers {
		all.Go(func() { t.loop(ctx) })
	}
	for _, l := range r.listeners {
		all.Go(func() { l.loop(ctx) })
	}
	all.Wait()
	return r.Failed()
}

// loop works until ctx ends.
func (w *worker) loop(ctx context.Context) {
	defer func() { w.api.Close() }()
	for w.run.pace(ctx, w.rand) {
		if w.calls++; w.calls%moveEvery == 0 {
			w.move()
		}
		if w.workload.Pipeline > 0 {
			w.pipeline(ctx)
		} else {
			s := w.pool.pick(w.rand)
			w.do(ctx, s, w.workload.Next(w, s))
		}
		if w.run.Failed() != nil || w.workload.Rounds > 0 && w.written >= w.workload.Rounds {
			return
		}
	}
}

// Finish is called when every fault has healed. Every node has to accept a write
// at every API that was used, and every worker has to succeed, before ctx ends.
func (r *Run) Finish(ctx context.Context) error {
	problems := make(chan error, len(r.workers)+len(r.tailers)+len(r.listeners))
	var all sync.WaitGroup
	for i, w := range r.workers {
		all.Go(func() {
			defer func() { w.api.Close() }()
			w.node = r.cluster.Nodes[i%len(r.cluster.Nodes)]
			w.api = w.open()
			if err := w.last(ctx); err != nil {
				problems <- err
			}
		})
	}
	for _, t := range r.tailers {
		all.Go(func() {
			if err := t.catchUp(ctx); err != nil {
				problems <- err
			}
		})
	}
	for _, l := range r.listeners {
		all.Go(func() {
			if err := l.catchUp(ctx); err != nil {
				problems <- err
			}
		})
	}
	all.Wait()
	close(problems)
	for err := range problems {
		return err // the first will do
	}
	return r.Failed()
}

// last makes writes of its workload's kind at its node until one succeeds.
func (w *worker) last(ctx context.Context) error {
	s := w.pool.pick(w.rand)
	for {
		var c history.Call
		if len(w.workload.Values) > 0 || w.workload.Listeners > 0 {
			c = w.write(s)
		} else {
			c = w.append(1, true)
			c.TTL = s.ttl
			c.List = w.workload.Removes && w.apiName == RESP
		}
		err := w.attempt(ctx, s, &c)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("after all faults have healed, %s does not accept a write at the API %s: %w", w.node.ID,
				w.apiName, err)
		}
		if !sleep(ctx, 20*time.Millisecond) {
			continue // one more attempt, for its error
		}
	}
}

// ReadAll reads every session whole, at every node. No write may be in flight,
// and every node must have applied all of them.
func (r *Run) ReadAll(ctx context.Context, workers int) error {
	work := make(chan *Session)
	errs := make(chan error, workers)
	var readers sync.WaitGroup
	for range workers {
		readers.Go(func() {
			f := newFinalReader(r)
			defer f.close()
			for s := range work {
				if err := f.read(ctx, s); err != nil {
					select {
					case errs <- err:
					default:
					}
				}
			}
		})
	}
	for _, p := range r.pools {
		if p.w.Listeners > 0 {
			continue // nothing is stored
		}
		for _, s := range p.sessions() {
			work <- s
		}
	}
	close(work)
	readers.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return r.Failed()
	}
}
