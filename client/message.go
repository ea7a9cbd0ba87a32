package client

import (
	"context"

	"github.com/turnlog/turnlog/turn"
)

// Edit gives a message another payload. The message keeps its seq, time and id, and there must
// be such a message: else the error is turn.NotFound. It returns First, the message's seq,
// Revision and Count. The revision stays if the message has that payload already.
//
// A retry of the message's append is still recognised, and does not undo the edit. A tail does
// not deliver the message again; a reader learns of the edit by the session's revision.
func (s Session) Edit(ctx context.Context, message turn.MessageRef, data []byte) (turn.Result, error) {
	op := &turn.EditMessage{Key: s.turnKey(), Message: message, Data: data}
	return s.write(ctx, s.request(vEdit).message(message).bytes(data).expect(s.expect), op)
}

// Remove removes one message; Result.Removed is 0 if the session holds no such message. Others
// keep their seqs, and a retry of the message's append does not bring it back. A tail that has
// not come to it yet does not deliver it any more, others are not told.
func (s Session) Remove(ctx context.Context, message turn.MessageRef) (turn.Result, error) {
	op := &turn.RemoveMessage{Key: s.turnKey(), Message: message}
	return s.write(ctx, s.request(vRemove).message(message).expect(s.expect), op)
}

// message names a message in a request.
func (r *request) message(m turn.MessageRef) *request {
	if m.ID != "" {
		return r.strings("ID", m.ID)
	}
	return r.strings("SEQ").uint(m.Seq)
}
