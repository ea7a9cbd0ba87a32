package layout

import (
	"slices"

	"github.com/turnlog/turnlog/turn"
)

// CheckDumped holds a pair of a dump against the checksum that it brings along from the
// store. Elements and blocks have one; that of other pairs was removed by Dumped, which
// verified it, and is made again by Restored. Of those it verifies that this version can read
// them: a state that has taken the place of another is one that can be used.
func CheckDumped(bucket, key, value []byte) error {
	switch string(bucket) {
	case string(BucketElements):
		return CheckElement(key, value)
	case string(BucketBlocks):
		return CheckBlock(key, value)
	case string(BucketHeads):
		var h Head
		return h.decode(value, false) // making maps would take most of the time
	case string(BucketTombstones):
		_, err := parseTombstone(key, value)
		return err
	case string(BucketGarbage):
		_, err := ParseWaste(value)
		return err
	case string(BucketNamespaces):
		_, err := DecodeNamespace(value)
		return err
	}
	return nil
}

// Restored returns what the store holds for a value of a dump.
func Restored(bucket, key, value []byte) []byte {
	if string(bucket) == string(BucketElements) {
		return slices.Clone(value)
	}
	return Seal(key, value)
}

// WholePair holds a pair of the store against its seal, if it has one.
func WholePair(bucket, key, value []byte) (err error) {
	switch string(bucket) {
	case string(BucketFiles), string(BucketSums):
		return nil
	case string(BucketElements):
		return CheckElement(key, value)
	case string(BucketBlocks):
		if len(key) != BlockKeySize {
			return turn.Errorf(turn.Corrupt, "the key %x is not that of a block", key)
		}
		if _, err := DecodeRef(key, value); err != nil {
			return InBlock(err, key)
		}
		return nil
	}
	_, err = Dumped(bucket, key, value)
	return err
}
