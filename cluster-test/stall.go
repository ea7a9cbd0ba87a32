package main

import (
	"context"
	"time"
)

const (
	stallTick = 20 * time.Millisecond
	// tolerable is how late the tester's own ticks may be on a machine that the
	// nodes' time limits are made for.
	tolerable = 150 * time.Millisecond
)

// watchStalls returns how much too late the tester's own clock ticked at worst,
// until ctx ends: then the machine had no time for anybody.
func watchStalls(ctx context.Context) <-chan time.Duration {
	worst := make(chan time.Duration, 1)
	go func() {
		ticker := time.NewTicker(stallTick)
		defer ticker.Stop()
		var late time.Duration
		for last := time.Now(); ; {
			select {
			case <-ctx.Done():
				worst <- late
				return
			case <-ticker.C:
				late = max(late, time.Since(last)-stallTick)
				last = time.Now()
			}
		}
	}()
	return worst
}
