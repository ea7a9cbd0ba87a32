package store

import (
	"errors"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// blobs is where blocks are read from: a pin, or the set itself for its writer.
type blobs interface {
	Read(buf, key []byte, ref blockfile.Ref) ([]byte, error)
}

// loadBlock appends the records of a block, given as the store has it, to dst.
func loadBlock(from blobs, dst []layout.Record, key, value []byte) ([]layout.Record, error) {
	block, err := wholeBlock(from, key, value)
	if err == nil {
		_, first := layout.SplitBlockKey(key)
		dst, err = layout.DecodeBlock(dst, first, block, false)
	}
	if err != nil {
		return dst, layout.InBlock(err, key)
	}
	return dst, nil
}

// wholeBlock returns the block that a value of the store refers to.
func wholeBlock(from blobs, key, value []byte) ([]byte, error) {
	ref, err := layout.DecodeRef(key, value)
	if err != nil {
		return nil, err
	}
	return readBlob(from, nil, key, ref)
}

// readBlob reads a block from its file. Whatever fails, the state cannot be read.
func readBlob(from blobs, buf, key []byte, ref blockfile.Ref) ([]byte, error) {
	b, err := from.Read(buf, key, ref)
	switch {
	case errors.Is(err, blockfile.ErrNewer):
		return nil, turn.Errorf(turn.Newer, "%v", err)
	case err != nil:
		return nil, layout.DamagedBlock("%v", err)
	}
	return b, nil
}
