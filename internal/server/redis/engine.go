package redis

import (
	"github.com/turnlog/turnlog/internal/server/redis/command"
	"github.com/turnlog/turnlog/internal/server/redis/pubsub"
)

// Engine performs what clients ask for. Its methods may be called by any goroutine; its errors
// are *turn.Error.
type Engine interface {
	command.Engine
	Ready() (ok bool, reasons []string)
	pubsub.Bus
}
