package langchaingo

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

// WithTurnID returns a context in which the messages of one call of History.AddMessages, or of
// Memory.SaveContext, have ids made from id: when the program makes the same call again, as after a crash,
// nothing is stored twice. The same id with other messages is turn.IDReused. id has up to 56 bytes; that
// of a request or a job serves.
func WithTurnID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, turnID{}, id)
}

// WithMessageIDs is WithTurnID with an id for each message of the call, of up to 64 bytes.
func WithMessageIDs(ctx context.Context, ids ...string) context.Context {
	return context.WithValue(ctx, messageIDs{}, ids)
}

// identify gives messages the ids of their context.
func identify(ctx context.Context, messages []turn.NewMessage) error {
	if ids, ok := ctx.Value(messageIDs{}).([]string); ok {
		if len(ids) != len(messages) {
			return turn.Errorf(turn.Invalid, "%d ids for %d messages; nothing was stored", len(ids), len(messages))
		}
		for i := range messages {
			messages[i].ID = ids[i]
		}
		return nil
	}
	if id, ok := ctx.Value(turnID{}).(string); ok {
		for i := range messages {
			messages[i].ID = id + "/" + strconv.Itoa(i)
		}
	}
	return nil
}
