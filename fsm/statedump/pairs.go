package statedump

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// AppendPair appends a pair as a dump has it, without the dump's checksums. SplitPairs reads what it appends.
func AppendPair(b, bucket, k, v []byte) ([]byte, error) {
	i := slices.IndexFunc(layout.Buckets(), func(name []byte) bool { return string(name) == string(bucket) })
	if i < 0 {
		return b, fmt.Errorf("dumps have no bucket %q", bucket)
	}
	b = append(b, byte(i))
	b = binary.AppendUvarint(b, uint64(len(k)))
	b = binary.AppendUvarint(b, uint64(len(v)))
	return append(append(b, k...), v...), nil
}

// SplitPairs calls fn with each of the pairs in b, as AppendPair made them, whose slices it must not keep.
func SplitPairs(b []byte, fn func(bucket []byte, k, v []byte) error) error {
	names := layout.Buckets()
	r := layout.NewReader(b)
	for r.More() {
		i := r.Next(1)[0]
		if int(i) >= len(names) {
			return turn.Errorf(turn.Newer, "state dump has a bucket %d, which this turnlog does not know: "+
				"run the newer turnlog", i)
		}
		kn, vn := r.Count(), r.Count()
		k, v := r.Next(kn), r.Next(vn)
		if !r.OK() {
			return turn.Errorf(turn.Corrupt, "state dump has a malformed pair")
		}
		if err := fn(names[i], k, v); err != nil {
			return err
		}
	}
	return nil
}
