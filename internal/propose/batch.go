package propose

import (
	"context"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Batch is a run of commands that is proposed as a whole. It comes from another node, or from
// the leader itself.
type Batch struct {
	Commands []codec.Command
	Bytes    int
	Weight   int // of all commands: see fsm.Weight
	// Done is called once, by any goroutine, with an outcome for each command,
	// or with why there is none. It must not block.
	Done func([]fsm.Outcome, *Failure)

	internal bool // proposed even if the disk is full
}

// Failure says why commands were not applied, as far as this node knows.
type Failure struct {
	Definite bool // they surely were not, and will not be
	Err      *turn.Error
}

// Definite is the failure of what surely did not take place, and will not.
func Definite(why *turn.Error) *Failure { return &Failure{Definite: true, Err: why} }

// NotLeader is the definite failure of what this node was to do as the leader.
func NotLeader() *Failure {
	return Definite(turn.Errorf(turn.Unavailable, "this node is no longer the leader"))
}

// Internal makes a batch of an operation that the leader proposes by itself, and a function that
// waits for its outcome.
func (p *Proposer) Internal(op []byte) (b *Batch, wait func(context.Context) (turn.Result, error)) {
	type outcome struct {
		r   turn.Result
		err error
	}
	got := make(chan outcome, 1)
	b = &Batch{
		Commands: []codec.Command{{Origin: p.origin, Number: p.last.Add(1), Op: op}},
		Bytes:    len(op), internal: true,
		Done: func(outs []fsm.Outcome, f *Failure) {
			switch {
			case f != nil:
				got <- outcome{err: f.Err}
			case outs[0].Err != nil:
				got <- outcome{err: outs[0].Err}
			default:
				got <- outcome{r: outs[0].Result}
			}
		},
	}
	return b, func(ctx context.Context) (turn.Result, error) {
		select {
		case o := <-got:
			return o.r, o.err
		case <-ctx.Done():
			return turn.Result{}, ctx.Err()
		}
	}
}
