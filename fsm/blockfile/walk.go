package blockfile

import "fmt"

// Walk calls fn with each record of a file from an offset on, 0 for the first, up
// to the extent that the index knows, until fn returns false. next is where a
// later walk goes on, the extent after the last. It is for the goroutine that
// appends.
func (s *Set) Walk(file uint64, from, extent int64,
	fn func(key []byte, ref Ref) (bool, error)) (next int64, err error) {
	f := s.file(file)
	if f == nil {
		return from, fmt.Errorf("%w: %s is not there", ErrCorrupt, s.path(file))
	}
	frame := make([]byte, frameSize)
	at := max(from, int64(headerSize))
	for more := true; more && at < extent; {
		if err := s.readAt(file, f, frame, at); err != nil {
			return at, err
		}
		key, length, err := readFrame(frame)
		if err != nil {
			return at, fmt.Errorf("%s at %d: %w", s.path(file), at, err)
		}
		ref := Ref{file, at, length}
		if more, err = fn(key, ref); err != nil {
			return at, err
		}
		at += ref.Size()
	}
	return at, nil
}
