package redis

import (
	"context"
	"time"

	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/turn"
)

// Engine performs what clients ask for. Its methods may be called by any goroutine; its errors
// are *turn.Error.
type Engine interface {
	command.Engine
	// Level returns the cluster's level as far as this node has applied it.
	Level() turn.ClusterLevel
	Ready() (ok bool, reasons []string)
	Bus
}

// wait waits at most d for a change or for ctx; it reports whether there was a change.
func wait(ctx context.Context, changed <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-changed:
		return true
	case <-t.C:
		return false
	case <-ctx.Done():
		return false
	}
}
