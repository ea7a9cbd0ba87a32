package readindex

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// A leader whose copy of what a query reads is damaged hands over to a member that is less damaged:
// to one without damage, or, if the leader is halted, to one with damaged blocks. If there is none, it
// still leads, and has a member answer that has that part whole: blocks are seldom damaged at the same
// places on all members.

// ifDamagedEverywhere is what to do about data of which no member has a whole copy.
const ifDamagedEverywhere = "all other data is served; delete the key, or write it again from an export " +
	"(turnlog import FILE --replace)"

// MembersTime bounds how long the other members are asked.
const MembersTime = 500 * time.Millisecond

// askMembers has another member answer a query that this node, which leads, cannot answer because
// of damage. If no member can, the error says what is damaged where, or that one of them is overloaded. known is false
// if a member that may have it whole did not answer from its data.
func (r *Reader) askMembers(ctx context.Context, q turn.Query, damage error) (res turn.Result, known bool, err error) {
	encoded, err := codec.EncodeQuery(q)
	if err != nil {
		return res, true, err
	}
	known = !errors.Is(damage, fsm.ErrHalted)
	var found []string // damage, by member
	var busy error     // of a member that may have it whole
	res, err = r.firstAnswer(ctx, encoded, func(a memberAnswer) {
		switch {
		case a.answered && turn.Is(a.err, turn.Corrupt):
			found = append(found, fmt.Sprintf("node %s: %v", a.id, a.err))
		case a.answered && turn.Is(a.err, turn.Overloaded):
			busy = a.err
		default:
			known = false
		}
	})
	switch {
	case !errors.Is(err, errNoAnswer):
		return res, true, err
	case busy != nil:
		return res, true, busy
	case !known:
		return res, false, damage
	}
	slices.Sort(found)
	return res, true, turn.Errorf(turn.Corrupt, "what the query reads is damaged on every member (node %s: %v; %s); %s",
		r.self, damage, strings.Join(found, "; "), ifDamagedEverywhere)
}

// memberAnswer is what became of a query that a member was asked.
type memberAnswer struct {
	id       string
	res      turn.Result
	answered bool // by the member
	err      error
}

// errNoAnswer is why there is no first answer.
var errNoAnswer = errors.New("no member answered from its data")

// firstAnswer asks all other members at once, so that none keeps another from being asked. It returns
// what the first member says that answers from its data, and passes on what the others said before.
func (r *Reader) firstAnswer(ctx context.Context, encoded []byte, other func(memberAnswer)) (turn.Result, error) {
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithTimeout(ctx, MembersTime)
	defer cancel()
	members := r.cluster.Others()
	answers := make(chan memberAnswer, len(members))
	for _, id := range members {
		asking.Go(func() {
			res, answered, err := r.peers.QueryMember(ctx, id, encoded)
			answers <- memberAnswer{id, res, answered, err}
		})
	}
	for range members {
		a := <-answers
		if a.fromData() {
			return a.res, a.err
		}
		other(a)
	}
	return turn.Result{}, errNoAnswer
}

// fromData reports whether an answer is what the data says, as every whole copy would.
func (a memberAnswer) fromData() bool {
	if !a.answered || a.err == nil {
		return a.answered
	}
	switch turn.KindOf(a.err) {
	case turn.Invalid, turn.TooLarge, turn.NotFound, turn.Exists, turn.Conflict, turn.IDReused, turn.WrongType:
		return true
	}
	return false
}
