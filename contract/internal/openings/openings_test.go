package openings

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
	late := errors.New("late")
	for _, tt := range []struct {
		name           string
		opening, ended time.Duration
	}{
		{"none", 0, limit},
		{"shorter than the limit", 50 * time.Second, limit + 50*time.Second},
		{"longer than the limit", 3 * limit, 4 * limit},
		{"without an end", time.Hour, limit + most*limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o Openings
				ctx, cancel := o.Bound(t.Context(), limit, late)
				defer cancel()
				start := time.Now()
				for range 2 { // that overlap count once
					go o.Measure(func() error {
						select {
						case <-time.After(tt.opening):
						case <-ctx.Done():
						}
						return nil
					})
				}
				<-ctx.Done()
				if d := time.Since(start); d != tt.ended || !errors.Is(context.Cause(ctx), late) {
					t.Errorf("ended after %s instead of %s: %v", d, tt.ended, context.Cause(ctx))
				}
			})
		})
	}
}
