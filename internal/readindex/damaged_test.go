package readindex

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/turn"
)

// answering is a cluster whose other members answer queries of the leader's, each in its way.
type answering struct {
	*voters
	as map[string]func(context.Context) (turn.Result, bool, error)
}

func (a answering) QueryMember(ctx context.Context, id string, _ []byte) (turn.Result, bool, error) {
	if ctx.Err() != nil {
		return turn.Result{}, false, ctx.Err()
	}
	return a.as[id](ctx)
}

// whole answers with a result, slow not before the end of the call, fails with an error.
func whole(context.Context) (turn.Result, bool, error) { return turn.Result{Index: 7}, true, nil }

func slow(ctx context.Context) (turn.Result, bool, error) {
	<-ctx.Done()
	return turn.Result{}, false, ctx.Err()
}

func fails(kind turn.Kind) func(context.Context) (turn.Result, bool, error) {
	return func(context.Context) (turn.Result, bool, error) {
		return turn.Result{}, true, turn.Errorf(kind, "says the member")
	}
}

// untold fails, for damage, without an answer.
func untold(context.Context) (turn.Result, bool, error) {
	return turn.Result{}, false, turn.Errorf(turn.Corrupt, "on the way")
}

func unreachable(context.Context) (turn.Result, bool, error) {
	return turn.Result{}, false, errors.New("not connected")
}

// What is damaged on the leader is answered by the member that has it whole, whatever the others do.
func TestMembersAreAsked(t *testing.T) {
	type member = func(context.Context) (turn.Result, bool, error)
	damage := turn.Errorf(turn.Corrupt, "a block is damaged")
	for name, c := range map[string]struct {
		n2, n3 member
		own    error
		known  bool
		kind   turn.Kind // of the error
	}{
		"the first is slow":              {slow, whole, damage, true, turn.None},
		"the second is slow":             {whole, slow, damage, true, turn.None},
		"the first is unreachable":       {unreachable, whole, damage, true, turn.None},
		"the first is damaged, too":      {fails(turn.Corrupt), whole, damage, true, turn.None},
		"the first is unavailable":       {fails(turn.Unavailable), whole, damage, true, turn.None},
		"the first has a defect":         {fails(turn.Internal), whole, damage, true, turn.None},
		"the first does not know":        {fails(turn.Unknown), whole, damage, true, turn.None},
		"the first is overloaded":        {fails(turn.Overloaded), whole, damage, true, turn.None},
		"the session does not exist":     {slow, fails(turn.NotFound), damage, true, turn.NotFound},
		"the key is of another type":     {fails(turn.WrongType), slow, damage, true, turn.WrongType},
		"the answer would be too large":  {fails(turn.TooLarge), slow, damage, true, turn.TooLarge},
		"the query is not valid":         {fails(turn.Invalid), slow, damage, true, turn.Invalid},
		"one cannot tell of its damage":  {untold, fails(turn.Corrupt), damage, false, turn.Corrupt},
		"all are damaged":                {fails(turn.Corrupt), fails(turn.Corrupt), damage, true, turn.Corrupt},
		"one of two damaged ones is off": {fails(turn.Corrupt), unreachable, damage, false, turn.Corrupt},
		"all are overloaded":             {fails(turn.Overloaded), fails(turn.Overloaded), damage, true, turn.Overloaded},
		"one of two is overloaded":       {fails(turn.Corrupt), fails(turn.Overloaded), damage, true, turn.Overloaded},
		"a defect and damage":            {fails(turn.Internal), fails(turn.Corrupt), damage, false, turn.Corrupt},
		"all are damaged, this is halted": {fails(turn.Corrupt), fails(turn.Corrupt), fsm.ErrHalted, false,
			turn.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := answering{threeVoters(), map[string]member{"n2": c.n2, "n3": c.n3}}
				r := New(Config{Self: "n1", Cluster: v, Peers: v})
				res, known, err := r.askMembers(t.Context(), &turn.Read{Key: turn.Key{Namespace: "0", Name: "s"}},
					c.own)
				switch {
				case known != c.known || (err == nil) != (c.kind == turn.None):
					t.Errorf("known %v, error %v", known, err)
				case err == nil && res.Index != 7:
					t.Errorf("the answer is %+v", res)
				case err != nil && turn.AsError(err).Kind != c.kind:
					t.Errorf("the error is %v", err)
				case known && c.kind == turn.Corrupt:
					for _, id := range []string{"node n1: ", "node n2: ", "node n3: "} {
						if !strings.Contains(err.Error(), id) {
							t.Errorf("it does not say %q: %v", id, err)
						}
					}
				}
			})
		})
	}
}
