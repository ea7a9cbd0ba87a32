package requests

import (
	"context"
	"fmt"

	"github.com/turnlog/turnlog/internal/answers"
	"github.com/turnlog/turnlog/internal/broadcast"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/internal/trace"
)

// Server answers other nodes. All fields but the last two are required; what they hold may be used by any goroutine.
type Server struct {
	Reads  *readindex.Reader
	Memory *answers.Budget // for the answers of Reads
	Inbox  *propose.Inbox
	Casts  *broadcast.Broadcaster
	// Promises returns why nothing may be promised yet, Promised the highest term in which this node promised
	// anything, or may have and forgotten it.
	Promises func() error
	Promised func() uint64
	// Status returns this node's view of itself. Notice is told what a node that asks for it says with that.
	Status func() Status
	Notice func(from string, notice LeaderNotice)
	// Change makes a change as the leader; the error is a Moved if this node is none.
	Change func(context.Context, Change) error
	// Seen answers a question of package rollback, once Running.
	Seen    func(from peer.Facts, question []byte) ([]byte, error)
	Running func() bool
	// Tracer and Traces record what other nodes' queries and operations take; nil: nothing does.
	Tracer *trace.Tracer
	Traces *propose.Tracing
}

// Serve answers requests of other nodes.
func (s *Server) Serve(ctx context.Context, r peer.Request) ([]byte, error) {
	switch r.Kind {
	case kindQuery:
		return s.answerQuery(ctx, r.Payload, s.Reads.Answer)
	case kindTracedQuery:
		return s.answerTraced(ctx, r.From.NodeID, r.Payload)
	case kindIndex:
		return s.answerIndex(ctx)
	case kindStatus:
		return s.answerStatus(r)
	case kindMembers:
		return s.answerChange(ctx, r.Payload)
	case kindSeen:
		return s.answerSeen(r.From, r.Payload)
	case kindMemberQuery:
		ctx, cancel := context.WithTimeout(ctx, readindex.MembersTime) // the leader waits no longer
		defer cancel()
		return s.answerQuery(ctx, r.Payload, s.Reads.AnswerMember)
	}
	return nil, fmt.Errorf("unknown request kind %d", r.Kind)
}

// Ordered answers those requests of other nodes whose order counts, or which are
// answered without waiting for anything.
func (s *Server) Ordered(r peer.Request, reply func([]byte, error)) {
	switch r.Kind {
	case kindForward:
		s.takeForwarded(r, reply)
	case kindTraces:
		reply([]byte{answerOK}, s.takeTraces(r))
	case kindConfirm:
		if err := s.Promises(); err != nil {
			reply(nil, err)
			return
		}
		reply(readindex.Confirm(r.Payload, s.Promised))
	case kindCast:
		answer, err := s.Casts.Take(r.From.NodeID, r.Payload)
		if err != nil {
			reply(nil, err)
			return
		}
		reply(append([]byte{answerOK}, answer...), nil)
	default:
		reply(nil, fmt.Errorf("unknown request kind %d", r.Kind))
	}
}

func (s *Server) answerSeen(from peer.Facts, question []byte) ([]byte, error) {
	if !s.Running() {
		return failed(propose.Definite(unavailable("the node is starting"))), nil
	}
	b, err := s.Seen(from, question)
	return append([]byte{answerOK}, b...), err
}
