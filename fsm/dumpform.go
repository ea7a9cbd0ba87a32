package fsm

import (
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// indices are the buckets that had no seals before layout.StateVersion.
func indices() [][]byte {
	return [][]byte{bucketDue, bucketTombstones, bucketGarbage, bucketNamespaces}
}

// dumped returns a value of the store as dumps hold it, without its seal unless it is of
// an element; blocks are another matter.
func dumped(bucket, key, stored []byte) ([]byte, error) {
	switch string(bucket) {
	case string(bucketElements):
		return stored, nil
	case string(bucketHeads):
		return layout.UnsealOrPlain(key, stored, "session")
	case string(bucketMeta):
		if string(key) == string(keyState) {
			return layout.Unseal(layout.StateVersion, key, stored, "state description")
		}
		return layout.UnsealOrPlain(key, stored, "tag window")
	}
	return layout.Unseal(layout.SealVersion, key, stored, "index entry")
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
func restored(bucket, key, value []byte) (stored []byte, err error) {
	version := byte(layout.SealVersion)
	switch string(bucket) {
	case string(bucketElements):
		return slices.Clone(value), nil
	case string(bucketMeta), string(bucketHeads):
		if string(key) == string(keyState) {
			version = layout.StateVersion
			if len(value) > 0 && value[0] == metaLevelVersion {
				return layout.Seal(version, key, value), nil
			}
		} else if len(value) > 0 && value[0] == layout.MovesHeadVersion && string(bucket) == string(bucketHeads) {
			return layout.Seal(version, key, value), nil
		}
		if value, err = layout.UnsealOrPlain(key, value, "value"); err != nil {
			return nil, err
		}
	}
	return layout.Seal(version, key, value), nil
}
