package levels

import (
	"math"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/internal/propose"
	"github.com/turnlog/turnlog/turn"
)

// What is in the log is applied by every node, at every start, so a command that a
// state machine cannot take must not come into it: it would end all of them, for
// good. The own calls were encoded here; those of other nodes are decoded before
// they are proposed.

// Vet looks at the commands of another node. If the cluster is not, or not yet, at the
// level that one of them needs, none may be proposed: the node is to ask again.
func (l *Levels) Vet(commands []codec.Command) (propose.Vetted, *propose.Failure) {
	v := propose.Vetted{Fit: commands}
	for i, c := range commands {
		op, needs, err := l.fit(c.Op)
		if err == nil {
			if err := l.Check(needs); err != nil {
				return propose.Vetted{}, propose.Definite(err)
			}
			v.Weight += fsm.Weight(op)
			if len(v.Refused) > 0 {
				v.Fit = append(v.Fit, c)
			}
			continue
		}
		if len(v.Refused) == 0 {
			l.cfg.Logger.Error("rejected an operation from another node, because it could not be applied", "error", err)
			v.Fit = append([]codec.Command(nil), commands[:i]...)
		}
		v.Refused = append(v.Refused, fsm.Outcome{Origin: c.Origin, Number: c.Number, Err: err})
	}
	return v, nil
}

// fit decodes an operation and returns the level that it needs, or why it can never be
// proposed.
func (l *Levels) fit(encoded []byte) (turn.Op, turn.ClusterLevel, *turn.Error) {
	op, needs, err := codec.DecodeOpLevel(encoded)
	if err != nil {
		return nil, 0, turn.Errorf(turn.Invalid, "the leader cannot decode the operation, which was not applied: %v",
			turn.AsError(err).Message)
	}
	if err := Proposable(op); err != nil {
		return nil, 0, err
	}
	if err := op.Validate(l.hardLimits()); err != nil {
		return nil, 0, turn.AsError(err)
	}
	return op, needs, nil
}

// Proposable refuses operations that only a leader proposes, by itself.
func Proposable(op turn.Op) *turn.Error {
	switch o := op.(type) {
	case *codec.Tick, *codec.Epoch, *codec.Member, *codec.SetLevel:
		return turn.Errorf(turn.Invalid, "%T is not an operation for clients", op)
	case *turn.Tx:
		for i := range o.Steps {
			switch step := o.Steps[i].Op.(type) {
			case *codec.Tick, *codec.Epoch, *codec.Member, *codec.SetLevel, *codec.Checksum:
				return turn.Errorf(turn.Invalid, "%T cannot be a step of a transaction", step)
			}
		}
	}
	return nil
}

// hardLimits are those beyond which a state machine cannot go. Nodes may be
// configured for different sizes of messages; what one of them took is not refused
// by another.
func (l *Levels) hardLimits() turn.Limits {
	limits := l.cfg.Limits
	limits.MessageBytes, limits.AppendBytes, limits.AppendMessages = math.MaxInt, math.MaxInt, math.MaxInt
	limits.IDBytes, limits.MetaBytes = math.MaxInt, math.MaxInt
	limits.KeyBytes = max(limits.KeyBytes, turn.DefaultLimits().KeyBytes)
	return limits
}
