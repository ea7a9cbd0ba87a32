package contract

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpeningsDoNotCount: the time to open handles is not the case's, up to a limit.
func TestOpeningsDoNotCount(t *testing.T) {
	const limit = time.Minute
	for _, tt := range []struct {
		name           string
		opening, ended time.Duration
	}{
		{"none", 0, limit},
		{"shorter than the limit", 50 * time.Second, limit + 50*time.Second},
		{"longer than the limit", 3 * limit, 4 * limit},
		{"without an end", time.Hour, limit + mostOpening*limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o openings
				ctx, cancel := o.bound(t.Context(), limit, errLate)
				defer cancel()
				start := time.Now()
				for range 2 { // that overlap count once
					go o.measure(func() error { pause(ctx, tt.opening); return nil })
				}
				<-ctx.Done()
				if d := time.Since(start); d != tt.ended || !errors.Is(context.Cause(ctx), errLate) {
					t.Errorf("ended after %s instead of %s: %v", d, tt.ended, context.Cause(ctx))
				}
			})
		})
	}
}
