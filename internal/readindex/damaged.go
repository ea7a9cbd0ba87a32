package readindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// A leader whose copy of what a query reads is damaged hands over to a member without damage. If
// there is none, it still leads, and has a member answer that has that part whole: blocks are
// seldom damaged at the same places on all members.

// ifDamagedEverywhere is what to do about data of which no member has a whole copy.
const ifDamagedEverywhere = "all other data is served; delete the key, or write it again from an export " +
	"(turnlog import FILE --replace)"

// membersTime bounds how long the other members are asked.
const membersTime = 500 * time.Millisecond

// askMembers has another member answer a query that this node, which leads, cannot answer because
// of damage. If no member can, the error says what is damaged where. known is false if a member
// that may have it whole did not answer.
func (r *Reader) askMembers(ctx context.Context, q turn.Query, damage error) (res turn.Result, known bool, err error) {
	encoded, err := codec.EncodeQuery(q)
	if err != nil {
		return res, true, err
	}
	ctx, cancel := context.WithTimeout(ctx, membersTime)
	defer cancel()
	known = !errors.Is(damage, fsm.ErrHalted)
	found := []string{fmt.Sprintf("node %s: %v", r.self, damage)}
	for _, id := range r.cluster.Others() {
		res, answered, err := r.peers.QueryMember(ctx, id, encoded)
		switch {
		case !answered:
			known = false
		case turn.Is(err, turn.Corrupt):
			found = append(found, fmt.Sprintf("node %s: %v", id, err))
		default:
			return res, true, err
		}
	}
	if !known {
		return res, false, damage
	}
	return res, true, turn.Errorf(turn.Corrupt, "what the query reads is damaged on every member (%s); %s",
		strings.Join(found, "; "), ifDamagedEverywhere)
}

// AnswerMember answers a query of the leader's, as of a read index, from this node's own state. The
// error is a *turn.Error that answers the query, or one of another type if this node cannot tell.
func (r *Reader) AnswerMember(ctx context.Context, q turn.Query) (turn.Result, error) {
	index, ok := r.Index(ctx)
	if !ok {
		return turn.Result{}, ErrNotLeader
	}
	if err := r.state.WaitApplied(ctx, index); err != nil {
		return turn.Result{}, fmt.Errorf("readindex: wait for log entry %d: %w", index, err)
	}
	res, err := r.state.Query(q)
	switch {
	case errors.Is(err, fsm.ErrHalted):
		return turn.Result{}, fmt.Errorf("readindex: %w", err)
	case err != nil:
		return turn.Result{}, turn.AsError(err)
	}
	return res, nil
}
