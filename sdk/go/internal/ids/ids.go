// Package ids carries the ids of messages in a context, for frameworks whose interfaces have no place for them. With
// ids, a call that is made again stores nothing twice.
package ids

import (
	"context"
	"strconv"

	"github.com/turnlog/turnlog/turn"
)

// The keys of a context's ids.
type (
	turnID     struct{}
	messageIDs struct{}
)

// WithTurn returns a context in which the messages of one call have ids made from id.
// An empty id is none.
func WithTurn(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, turnID{}, id)
}

// WithMessages returns a context with an id for each message of one call.
func WithMessages(ctx context.Context, ids []string) context.Context {
	return context.WithValue(ctx, messageIDs{}, ids)
}

// Identify gives the messages of a call the ids of its context. Those of WithMessages must be as many as the messages.
func Identify(ctx context.Context, messages []turn.NewMessage) error {
	if ids, ok := ctx.Value(messageIDs{}).([]string); ok {
		if len(ids) != len(messages) {
			return turn.Errorf(turn.Invalid, "%d ids for %d messages; nothing was stored", len(ids), len(messages))
		}
		for i := range messages {
			messages[i].ID = ids[i]
		}
		return nil
	}
	if id, _ := ctx.Value(turnID{}).(string); id != "" {
		for i := range messages {
			messages[i].ID = id + "/" + strconv.Itoa(i)
		}
	}
	return nil
}
