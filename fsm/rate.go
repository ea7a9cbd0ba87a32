package fsm

import (
	"context"
	"time"
)

// rate keeps what the scrub does to its share of time and disk.
type rate struct {
	ctx   context.Context
	began time.Time
	bytes int // since began
}

func newRate(ctx context.Context) *rate { return &rate{ctx: ctx, began: time.Now()} }

// did waits, after each scrubBytes, as long as makes the work since the last wait the share
// that it may have.
func (r *rate) did(bytes int) error {
	if r.bytes += bytes; r.bytes < scrubBytes {
		return r.ctx.Err()
	}
	return r.rest()
}

func (r *rate) rest() error {
	took := time.Since(r.began)
	err := pause(r.ctx, max((scrubShare-1)*took, time.Duration(r.bytes)*time.Second/scrubRate-took))
	r.began, r.bytes = time.Now(), 0
	return err
}
