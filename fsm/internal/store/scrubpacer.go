package store

import (
	"context"
	"time"
)

// rate keeps what the scrub does to its share of time and disk.
type rate struct {
	ctx   context.Context
	began time.Time // the work since the last rest
}

func newRate(ctx context.Context) *rate { return &rate{ctx: ctx, began: time.Now()} }

// rest waits as long as makes the work since the last rest, with so many bytes read, the share
// that it may have.
func (r *rate) rest(bytes uint64) error {
	took := time.Since(r.began)
	err := pause(r.ctx, max((scrubShare-1)*took, time.Duration(bytes)*time.Second/scrubRate-took))
	r.began = time.Now()
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}
