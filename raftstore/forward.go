package raftstore

import (
	"errors"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/peer"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// forwarding carries batches from node to node. It implements propose.Peers.
type forwarding struct {
	lead *knownLeader
	net  *peer.Network
}

func (f forwarding) Leader() (id string, changed <-chan struct{}) {
	id, changed = f.lead.leader()
	if id == f.lead.self {
		id = ""
	}
	return id, changed
}

func (f forwarding) Forward(to string, b propose.Forwarded, answered func([]fsm.Outcome, *propose.Failure)) {
	f.net.Send(to, kindForward, appendForwarded(b), func(answer []byte, err error) {
		answered(forwardedOutcomes(answer, err))
	})
}

// forwardedOutcomes returns what became of a forwarded batch, by the answer to it.
func forwardedOutcomes(answer []byte, err error) ([]fsm.Outcome, *propose.Failure) {
	switch {
	case errors.Is(err, peer.ErrNotSent), errors.Is(err, peer.ErrOverloaded):
		return nil, definite(unavailable("cannot reach the leader: %v", err))
	case err != nil:
		return nil, lost(err)
	}
	content, f, err := open(answer)
	if err != nil {
		return nil, lost(err)
	}
	if f != nil {
		return nil, f
	}
	outs, err := parseOutcomes(content)
	if err != nil {
		return nil, lost(err)
	}
	return outs, nil
}

// lost is the failure of a batch of which it is not known what became.
func lost(err error) *propose.Failure {
	return &propose.Failure{Err: turn.Errorf(turn.Unknown, "what became of the batch is not known: %v", err)}
}

// takeForwarded takes a batch of another node's, which this one should lead. It does not block.
func (n *Node) takeForwarded(r peer.Request, reply func([]byte, error)) {
	b, err := parseForwarded(r.Payload)
	if err != nil {
		reply(nil, err)
		return
	}
	n.writes.inbox.Take(r.From.NodeID, b, len(r.Payload), func(outs []fsm.Outcome, f *propose.Failure) {
		if f != nil {
			reply(badly(f), nil)
			return
		}
		reply(appendOutcomes([]byte{answerOK}, outs), nil)
	})
}
