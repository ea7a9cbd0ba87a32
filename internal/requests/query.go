package requests

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/internal/trace"
	"github.com/turnlog/turnlog/turn"
)

// Confirm asks a voter a leader's question: see readindex.Peers, which Client implements.
func (c Client) Confirm(id string, question []byte, answered func(answer []byte, err error)) {
	c.Net.Send(id, kindConfirm, question, answered)
}

// ReadIndex returns a read index of the leader's.
func (c Client) ReadIndex(ctx context.Context, leader string) (uint64, error) {
	answer, err := c.Net.Call(ctx, leader, kindIndex, nil)
	if err != nil {
		return 0, err
	}
	content, f, err := open(answer)
	switch {
	case err != nil:
		return 0, err
	case f != nil:
		return 0, f.Err
	case len(content) != 8:
		return 0, errShort
	}
	return binary.LittleEndian.Uint64(content), nil
}

// Query has the leader answer a query, as a part of a span, if that is one; again: that node cannot, another may.
func (c Client) Query(ctx context.Context, leader string, of trace.Context, q []byte) (r turn.Result, again bool,
	err error) {
	answer, err := c.callQuery(ctx, leader, of, q)
	return queried(ctx, answer, err)
}

// queried is what Query returns, by what the leader answered.
func queried(ctx context.Context, answer []byte, err error) (r turn.Result, again bool, _ error) {
	switch {
	case errors.Is(err, peer.ErrOverloaded):
		return r, false, turn.Errorf(turn.Overloaded, "too many queries are in flight between this node and the leader")
	case errors.Is(err, peer.ErrAnswerTooLarge):
		return r, false, errTooLarge()
	case err != nil && ctx.Err() != nil:
		return r, false, unavailable("the leader did not answer in time: %v", err)
	case err != nil:
		return r, true, err
	}
	content, f, err := open(answer)
	switch {
	case err != nil:
		return r, false, err
	case f != nil && answer[0] == answerNotLeader:
		return r, true, f.Err
	case f != nil:
		return r, false, f.Err
	}
	r, err = codec.DecodeResult(content)
	return r, false, err
}

// errTooLarge is why there is an answer, and none that one node can send another: it would be as large again.
func errTooLarge() *turn.Error {
	return turn.Errorf(turn.TooLarge,
		"the answer is larger than what one node sends another; ask for less, or in parts")
}

// callQuery sends a query. A leader of an older version, which knows nothing of traces, gets it without one.
func (c Client) callQuery(ctx context.Context, leader string, of trace.Context, q []byte) ([]byte, error) {
	if of.Valid() {
		traced := append(of.Append(make([]byte, 0, trace.EncodedLen+len(q))), q...)
		answer, err := c.Net.Call(ctx, leader, kindTracedQuery, traced)
		if !errors.As(err, new(*peer.RemoteError)) {
			return answer, err
		}
	}
	return c.Net.Call(ctx, leader, kindQuery, q)
}

// QueryMember has a member answer a query of the leader's; answered is false if it cannot tell.
func (c Client) QueryMember(ctx context.Context, id string, q []byte) (r turn.Result, answered bool, err error) {
	answer, err := c.Net.Call(ctx, id, kindMemberQuery, q)
	switch {
	case errors.Is(err, peer.ErrAnswerTooLarge):
		return r, true, errTooLarge()
	case err != nil:
		return r, false, err
	}
	content, f, err := open(answer)
	switch {
	case err != nil || f != nil && answer[0] == answerNotLeader:
		return r, false, err
	case f != nil:
		return r, true, f.Err
	}
	r, err = codec.DecodeResult(content)
	return r, err == nil, err
}

// answerQuery answers another node's query: with the Reader's Answer, if this node leads, or its
// AnswerMember.
func (s *Server) answerQuery(ctx context.Context, payload []byte,
	answer func(context.Context, turn.Query) (turn.Result, error)) ([]byte, error) {
	q, err := codec.DecodeQuery(payload)
	if err != nil {
		return failed(propose.Definite(turn.AsError(err))), nil
	}
	ctx, leave := s.Memory.In(ctx)
	defer leave()
	r, err := answer(ctx, q)
	if refused, ok := err.(*turn.Error); ok {
		return failed(propose.Definite(refused)), nil
	}
	if errors.Is(err, readindex.ErrNotLeader) {
		return []byte{answerNotLeader}, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := codec.EncodeResult(&r)
	if err != nil {
		return nil, err
	}
	return append([]byte{answerOK}, b...), nil
}

// answerTraced answers a query that is part of a trace, and records what that takes if this node traces.
func (s *Server) answerTraced(ctx context.Context, from string, payload []byte) ([]byte, error) {
	if len(payload) < trace.EncodedLen {
		return nil, errShort
	}
	span := s.Tracer.Begin(trace.Decode(payload), trace.Server, "turnlog.forwarded")
	defer span.End()
	span.Set(trace.Text("turnlog.from", from))
	return s.answerQuery(trace.With(ctx, span), payload[trace.EncodedLen:], s.Reads.Answer)
}

func (s *Server) answerIndex(ctx context.Context) ([]byte, error) {
	index, ok := s.Reads.LeaderIndex(ctx)
	if !ok {
		return []byte{answerNotLeader}, nil
	}
	return binary.LittleEndian.AppendUint64([]byte{answerOK}, index), nil
}
