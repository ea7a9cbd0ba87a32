package fsm

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// dumped returns a value of the store as dumps hold it, without its seal unless it is of
// an element; blocks are another matter.
func dumped(bucket, key, stored []byte) ([]byte, error) {
	switch string(bucket) {
	case string(bucketElements):
		return stored, nil
	case string(bucketHeads):
		return layout.Unseal(key, stored, "session")
	case string(bucketMeta):
		if string(key) == string(keyState) {
			return layout.Unseal(key, stored, "state description")
		}
		return layout.Unseal(key, stored, "tag window")
	}
	return layout.Unseal(key, stored, "index entry")
}

// checkDumped holds a pair of a dump against the checksum that it brings along from the
// store. Elements and blocks have one; that of other pairs was removed by dumped, which
// verified it, and is made again by restored.
func checkDumped(bucket, key, value []byte) error {
	switch string(bucket) {
	case string(bucketElements):
		return layout.CheckElement(key, value)
	case string(bucketBlocks):
		return layout.CheckBlock(key, value)
	}
	return nil
}

// restored returns what the store holds for a value of a dump.
func restored(bucket, key, value []byte) []byte {
	if string(bucket) == string(bucketElements) {
		return slices.Clone(value)
	}
	return layout.Seal(key, value)
}
