package vote

import (
	"errors"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/turnlog/turnlog/turn"
)

// IsDamage reports whether an error tells of bytes that are not what was written.
func IsDamage(err error) bool {
	damaged := turn.Is(err, turn.Corrupt)
	for _, damage := range []error{bolterrors.ErrInvalid, bolterrors.ErrChecksum, bolterrors.ErrVersionMismatch} {
		damaged = damaged || errors.Is(err, damage)
	}
	return damaged
}
