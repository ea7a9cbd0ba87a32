package fsm

import (
	"errors"

	"github.com/turnlog/turnlog/turn"
)

// blockDamage is the error for a block that is not what was written.
type blockDamage struct{ error }

func (e blockDamage) Unwrap() error { return e.error }

func damagedBlock(format string, args ...any) error {
	return blockDamage{turn.Errorf(turn.Corrupt, format, args...)}
}

// at says in which block an error is.
func at(err error, key []byte) error {
	e := turn.AsError(err)
	inc, seq := splitBlockKey(key)
	if block := (blockDamage{}); errors.As(err, &block) {
		return damagedBlock("block %d/%d: %s", inc, seq, e.Message)
	}
	return turn.Errorf(e.Kind, "block %d/%d: %s", inc, seq, e.Message)
}
