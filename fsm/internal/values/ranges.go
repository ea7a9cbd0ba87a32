package values

import "github.com/turnlog/turnlog/turn"

// Range turns Redis's inclusive, possibly negative bounds into a first
// index and a number of elements.
func Range(start, stop int64, count uint64) (first, n uint64) {
	length := int64(count)
	if start < 0 {
		start = max(start+length, 0)
	}
	if stop < 0 {
		stop += length
	}
	stop = min(stop, length-1)
	if start > stop {
		return 0, 0
	}
	return uint64(start), uint64(stop - start + 1)
}

// RangeTooLong is the error for a range with more than limit bytes.
func RangeTooLong(limit int) error {
	return turn.Errorf(turn.TooLarge,
		"the range has more than the %d bytes that one answer may have; read it in parts", limit)
}
