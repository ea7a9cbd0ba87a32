package bench

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/turnlog/turnlog/internal/bench/generator"
	"github.com/turnlog/turnlog/internal/bench/measure"
	"github.com/turnlog/turnlog/internal/bench/target"
)

// background is a load of appends, every one of which is kept as a sample, while
// something else is done.
type background struct {
	samples measure.Samples // to be read after wait
	rec     *generator.Recorder
	stopped atomic.Bool
	done    chan struct{}
	err     error
}

// startBackground begins to append one message at a time, to sessions that
// session chooses until it says that there are no more.
func startBackground(ctx context.Context, t target.Target, cfg Config, live *generator.Live,
	session func(*rand.Rand) (int, bool)) *background {
	b := &background{samples: measure.Samples{Begin: time.Now()}, done: make(chan struct{})}
	b.rec = &generator.Recorder{Live: live, Each: b.samples.Add}
	r := rand.New(rand.NewPCG(cfg.Seed, uint64(b.samples.Begin.UnixNano())))
	next := func() ([]generator.Step, int, bool) {
		i, more := session(r)
		return oneMore, i, more && !b.stopped.Load()
	}
	go func() {
		defer close(b.done)
		b.err = generate(ctx, &t, cfg, r, b.rec, next)
	}()
	return b
}

// anySession chooses evenly among so many, for ever.
func anySession(sessions int) func(*rand.Rand) (int, bool) {
	return func(r *rand.Rand) (int, bool) { return r.IntN(sessions), true }
}

// wait waits until the load has ended by itself; stop ends it. They return why it
// failed as a whole; operations that failed, but for all, are in rec.
func (b *background) wait() error {
	<-b.done
	if b.err == nil && len(b.samples.At) == 0 {
		return b.rec.First
	}
	return b.err
}

func (b *background) stop() error {
	b.stopped.Store(true)
	return b.wait()
}
