package raftstore

import (
	"context"
	"fmt"

	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/readindex"
)

// serve answers requests of other nodes.
func (n *Node) serve(ctx context.Context, r peer.Request) ([]byte, error) {
	switch r.Kind {
	case kindQuery:
		return answerQuery(ctx, r.Payload, n.reads.Answer)
	case kindIndex:
		return n.answerIndex(ctx)
	case kindStatus:
		return n.answerStatus(r)
	case kindMembers:
		return n.members.answerMembers(ctx, r.Payload)
	case kindSeen:
		return n.answerSeen(r.From, r.Payload)
	case kindMemberQuery:
		return answerQuery(ctx, r.Payload, n.reads.AnswerMember)
	}
	return nil, fmt.Errorf("unknown request kind %d", r.Kind)
}

// ordered answers those requests of other nodes whose order counts, or which are
// answered without waiting for anything.
func (n *Node) ordered(r peer.Request, reply func([]byte, error)) {
	switch r.Kind {
	case kindForward:
		n.takeForwarded(r, reply)
	case kindConfirm:
		if err := n.ballot.Ready(); err != nil {
			reply(nil, err)
			return
		}
		reply(readindex.Confirm(r.Payload, n.promised))
	case kindCast:
		answer, err := n.casts.Take(r.From.NodeID, r.Payload)
		if err != nil {
			reply(nil, err)
			return
		}
		reply(append([]byte{answerOK}, answer...), nil)
	default:
		reply(nil, fmt.Errorf("unknown request kind %d", r.Kind))
	}
}
