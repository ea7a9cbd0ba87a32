package raftstore

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/readindex"
	"github.com/turnlog/turnlog/turn"
)

// newReader needs the connections to other nodes.
func (n *Node) newReader() *readindex.Reader {
	return readindex.New(readindex.Config{
		Self: n.id, Cluster: readCluster{n}, Peers: readPeers{n.net}, State: n.state,
		LeaderWait: n.cfg.Calls.LeaderWait, RoundLimit: min(n.cfg.Consensus.Heartbeat, time.Second),
	})
}

// Query answers a query. The error is nil or a *turn.Error; queries change
// nothing, so every error is safe to retry as far as its kind allows.
func (n *Node) Query(ctx context.Context, q turn.Query, c turn.Consistency) (turn.Result, error) {
	if err := q.Validate(n.cfg.Limits); err != nil {
		return turn.Result{}, turn.AsError(err)
	}
	if err := n.awaitQueryLevel(ctx, q); err != nil {
		return turn.Result{}, err
	}
	return n.reads.Query(ctx, q, c)
}

// readCluster implements readindex.Cluster.
type readCluster struct{ node *Node }

func (c readCluster) Leader() (id string, changed <-chan struct{}) { return c.node.lead.leader() }

func (c readCluster) Serving() (term uint64, changed <-chan struct{}) { return c.node.lead.serves() }

func (c readCluster) Raft() (leads bool, term, commit uint64) { return c.node.raft.state() }

func (c readCluster) Voters() (others []string, self bool) { return c.node.raft.voters() }

func (c readCluster) Others() []string { return c.node.raft.others() }

func (c readCluster) Alone() bool { return c.node.alone() }

// readPeers implements readindex.Peers.
type readPeers struct{ net *peer.Network }

func (p readPeers) Confirm(id string, question []byte, answered func(answer []byte, err error)) {
	p.net.Send(id, kindConfirm, question, answered)
}

func (p readPeers) ReadIndex(ctx context.Context, leader string) (uint64, error) {
	answer, err := p.net.Call(ctx, leader, kindIndex, nil)
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

func (p readPeers) Query(ctx context.Context, leader string, q []byte) (r turn.Result, again bool, err error) {
	answer, err := p.net.Call(ctx, leader, kindQuery, q)
	switch {
	case errors.Is(err, peer.ErrOverloaded):
		return r, false, turn.Errorf(turn.Overloaded, "too many queries are in flight between this node and the leader")
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

func (p readPeers) QueryMember(ctx context.Context, id string, q []byte) (r turn.Result, answered bool, err error) {
	answer, err := p.net.Call(ctx, id, kindMemberQuery, q)
	if err != nil {
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
func answerQuery(ctx context.Context, payload []byte,
	answer func(context.Context, turn.Query) (turn.Result, error)) ([]byte, error) {
	q, err := codec.DecodeQuery(payload)
	if err != nil {
		return badly(definite(turn.AsError(err))), nil
	}
	r, err := answer(ctx, q)
	if refused, ok := err.(*turn.Error); ok {
		return badly(definite(refused)), nil
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

func (n *Node) answerIndex(ctx context.Context) ([]byte, error) {
	index, ok := n.reads.LeaderIndex(ctx)
	if !ok {
		return []byte{answerNotLeader}, nil
	}
	return binary.LittleEndian.AppendUint64([]byte{answerOK}, index), nil
}
