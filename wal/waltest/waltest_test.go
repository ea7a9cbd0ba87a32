package waltest_test

import (
	"log/slog"
	"testing"

	"github.com/turnlog/turnlog/wal"
	"github.com/turnlog/turnlog/wal/waltest"
)

// store is our log as the suite wants it.
type store struct{ *wal.Log }

func (s store) First() (uint64, error) { return s.FirstIndex(), nil }
func (s store) Last() (uint64, error)  { return s.LastIndex(), nil }

func (s store) Get(index uint64) (waltest.Entry, error) {
	r, err := s.Log.Get(index)
	return waltest.Entry(r), err
}

func (s store) Append(entries []waltest.Entry) error {
	records := make([]wal.Record, len(entries))
	for i, e := range entries {
		records[i] = wal.Record(e)
	}
	return s.Log.Append(records)
}

func (s store) DeleteRange(low, high uint64) error {
	switch atFirst, atLast := low <= s.FirstIndex(), high >= s.LastIndex(); {
	case atFirst && atLast:
		return s.Reset(0)
	case atFirst:
		return s.TruncateBefore(high + 1)
	default:
		return s.TruncateAfter(low - 1)
	}
}

func TestLog(t *testing.T) {
	for name, opts := range map[string]wal.Options{
		"small segments":           {SegmentBytes: 16 << 10},
		"small segments, no cache": {SegmentBytes: 16 << 10, CacheBytes: -1},
		"small cache":              {SegmentBytes: 1 << 20, CacheBytes: 3000},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Logger = slog.New(slog.DiscardHandler)
			waltest.Run(t, waltest.Suite{
				Open: func(dir string) (waltest.Store, error) {
					l, err := wal.Open(dir, opts)
					return store{l}, err
				},
				NotFound: waltest.ErrIs(wal.ErrNotFound),
			})
		})
	}
}
