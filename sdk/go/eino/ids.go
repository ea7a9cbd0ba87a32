package eino

import (
	"context"

	"github.com/turnlog/turnlog/sdk/go/internal/ids"
)

// WithTurnID returns a context in which the messages of one call of Memory.Append have ids made from id:
// when the program makes the same call again, as after a crash, nothing is stored twice. The same id
// with other messages is turn.IDReused. id has up to 56 bytes; that of a request or a job serves.
// An empty id is none.
func WithTurnID(ctx context.Context, id string) context.Context { return ids.WithTurn(ctx, id) }

// WithMessageIDs is WithTurnID with an id for each message of the call, of up to 64 bytes.
func WithMessageIDs(ctx context.Context, each ...string) context.Context {
	return ids.WithMessages(ctx, each)
}
