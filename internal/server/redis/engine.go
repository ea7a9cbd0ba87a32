package redis

import (
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
	"github.com/turnlog/turnlog/turn"
)

// Engine performs what clients ask for. Its methods may be called by any goroutine; its errors
// are *turn.Error.
type Engine interface {
	command.Engine
	// Level returns the cluster's level as far as this node has applied it.
	Level() turn.ClusterLevel
	Ready() (ok bool, reasons []string)
	pubsub.Bus
}
