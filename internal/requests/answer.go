package requests

import (
	"errors"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// The requests between nodes. Numbers are never reused.
const (
	kindForward peer.Kind = peer.Ordered | 1 // a batch of commands for the leader
	kindConfirm peer.Kind = peer.Ordered | 2 // is there a newer term? (see package readindex)
	kindCast    peer.Kind = peer.Ordered | 3 // a message beside the log (see package broadcast)
	// kindTraces are the traces that the next batch of commands is part of. Nodes of older versions reject it, and lose
	// nothing by that.
	kindTraces peer.Kind = peer.Ordered | 4

	kindQuery   peer.Kind = 1 // a linearizable query for the leader
	kindIndex   peer.Kind = 2 // a read index from the leader
	kindStatus  peer.Kind = 3 // a node's own view of itself
	kindMembers peer.Kind = 4 // a membership change for the leader
	kindSeen    peer.Kind = 5 // how far the asker is; what was seen of it before
	// kindMemberQuery is a linearizable query for a member, of what is damaged on the leader.
	kindMemberQuery peer.Kind = 6
	// kindTracedQuery is a kindQuery as a part of a trace, which nodes of older versions reject: a trace.Context comes
	// before the query.
	kindTracedQuery peer.Kind = 7
)

// An answer starts with a byte that tells what became of the request; if it failed,
// an encoded turn.Error follows.
const (
	answerOK byte = iota
	answerFailed
	answerUnknown   // failed, and perhaps it took place nevertheless
	answerNotLeader // ask another node
)

var errShort = errors.New("requests: malformed message from another node")

// failed is the answer to a request that failed.
func failed(f *propose.Failure) []byte {
	b, err := codec.EncodeError(f.Err)
	if err != nil {
		b = nil
	}
	if f.Definite {
		return append([]byte{answerFailed}, b...)
	}
	return append([]byte{answerUnknown}, b...)
}

// open splits an answer. The failure is nil if the request succeeded.
func open(b []byte) ([]byte, *propose.Failure, error) {
	if len(b) == 0 {
		return nil, nil, errShort
	}
	switch b[0] {
	case answerOK:
		return b[1:], nil, nil
	case answerNotLeader:
		return nil, propose.NotLeader(), nil
	case answerFailed, answerUnknown:
		e, err := codec.DecodeError(b[1:])
		if err != nil {
			return nil, nil, err
		}
		return nil, &propose.Failure{Definite: b[0] == answerFailed, Err: e}, nil
	}
	return nil, nil, errShort
}

func unavailable(format string, args ...any) *turn.Error {
	return turn.Errorf(turn.Unavailable, format, args...)
}
