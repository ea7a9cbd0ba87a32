package requests

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// Change is a change of the members, or of who leads, as it goes to the leader.
type Change struct {
	Kind ChangeKind `json:"kind"`
	ID   string     `json:"id,omitempty"`   // all but Transfer have one
	Addr string     `json:"addr,omitempty"` // of a node to add
}

// ChangeKind is what a Change does. A leader rejects a kind that it does not know.
type ChangeKind string

const (
	Add        ChangeKind = "add"         // as a learner, and then as a voter
	AddLearner ChangeKind = "add_learner" // which stays one
	Promote    ChangeKind = "promote"     // a learner to a voter
	Demote     ChangeKind = "demote"      // a voter to a learner
	Remove     ChangeKind = "remove"
	Transfer   ChangeKind = "transfer" // of leadership
)

// Moved marks an error of a node that was asked for a change and does not lead, or is about to
// lead no more. Nothing was changed, and the next leader is to be asked.
type Moved struct{ error }

// NewMoved returns a Moved for a reason.
func NewMoved(why error) Moved { return Moved{why} }

func (m Moved) Unwrap() error { return m.error }

// Change has the leader make a change. The error is a Moved if that node does not lead.
func (c Client) Change(ctx context.Context, leader string, change Change) error {
	b, err := json.Marshal(change)
	if err != nil {
		return err
	}
	answer, err := c.Net.Call(ctx, leader, kindMembers, b)
	if err != nil {
		return turn.Errorf(turn.Unknown, "the leader was asked for the change, but did not answer: %v", err)
	}
	_, f, err := open(answer)
	switch {
	case f != nil && answer[0] == answerNotLeader:
		return Moved{f.Err}
	case f != nil:
		return f.Err
	}
	return err
}

func (s *Server) answerChange(ctx context.Context, payload []byte) ([]byte, error) {
	var c Change
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	if err := s.Change(ctx, c); err != nil {
		if errors.As(err, new(Moved)) {
			return []byte{answerNotLeader}, nil
		}
		e := turn.AsError(err)
		return failed(&propose.Failure{Definite: e.Kind != turn.Unknown, Err: e}), nil
	}
	return []byte{answerOK}, nil
}
