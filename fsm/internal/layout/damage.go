package layout

import (
	"errors"

	"github.com/turnlog/turnlog/turn"
)

// BlockDamage is the error for a block that is not what was written.
type BlockDamage struct{ error }

func (e BlockDamage) Unwrap() error { return e.error }

// DamagedBlock returns a BlockDamage of kind turn.Corrupt.
func DamagedBlock(format string, args ...any) error {
	return BlockDamage{turn.Errorf(turn.Corrupt, format, args...)}
}

// InBlock says in which block an error is.
func InBlock(err error, key []byte) error {
	e := turn.AsError(err)
	inc, seq := SplitBlockKey(key)
	if block := (BlockDamage{}); errors.As(err, &block) {
		return DamagedBlock("block %d/%d: %s", inc, seq, e.Message)
	}
	return turn.Errorf(e.Kind, "block %d/%d: %s", inc, seq, e.Message)
}

// Refusal returns an error of an operation; ok is false if the state is to blame.
func Refusal(err error) (refused *turn.Error, ok bool) {
	refused, ok = err.(*turn.Error)
	return refused, ok && refused.Kind != turn.Corrupt && refused.Kind != turn.Newer
}
