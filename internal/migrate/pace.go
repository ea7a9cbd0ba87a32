package migrate

import (
	"context"
	"sync"
	"time"
)

// pacer spreads bytes over time: no more than rate in each second, however many
// ask. A request may exceed the rate; those after it wait.
type pacer struct {
	rate int64 // bytes a second; 0: as fast as it goes

	mu   sync.Mutex
	free time.Time // when everything that was let through will have been due
}

func (p *pacer) wait(ctx context.Context, bytes int) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.free.Before(now) {
		p.free = now
	}
	until := p.free
	p.free = p.free.Add(time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second)))
	p.mu.Unlock()
	return sleep(ctx, until.Sub(now))
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
