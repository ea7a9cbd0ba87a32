package client

import (
	"context"

	"github.com/turnlog/turnlog/turn"
)

// Edit gives a message another payload. The message keeps its seq, time and id. If there is no such
// message, the error is turn.NotFound. Edit returns First (the message's seq), Revision and Count. If
// the message already has that payload, nothing changes, not even the revision.
//
// A retry of the message's append is still recognised, and does not undo the edit. A tail does not
// deliver the message again; a reader can tell by the session's revision that something changed.
func (s Session) Edit(ctx context.Context, message turn.MessageRef, data []byte) (turn.Result, error) {
	op := &turn.EditMessage{Key: s.turnKey(), Message: message, Data: data}
	return s.write(ctx, s.request(vEdit).message(message).bytes(data).expect(s.expect), op)
}

// Remove removes one message; Result.Removed is 0 if the session holds no such message. The others keep
// their seqs, and a retry of the message's append does not bring it back. A tail that has not reached
// the message does not deliver it; other tails do not announce the removal.
func (s Session) Remove(ctx context.Context, message turn.MessageRef) (turn.Result, error) {
	op := &turn.RemoveMessage{Key: s.turnKey(), Message: message}
	return s.write(ctx, s.request(vRemove).message(message).expect(s.expect), op)
}
