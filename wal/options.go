package wal

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/turnlog/turnlog/internal/vfs"
)

// Options configure a Log. The zero value is ready for use.
type Options struct {
	// SegmentBytes is the size of a segment file: a multiple of 4096, from 16 KiB to 1 GiB. Default 64 MiB. It may
	// change between openings. A batch that does not fit gets a larger segment of its own.
	SegmentBytes int64
	// SpareSegments is how many recycled files are kept for later use, unless SaveSpace says that space is needed more.
	// Default 2; negative: none.
	SpareSegments int
	// Grow, if set, is asked before the log takes so many more bytes of the disk. If it returns false, the call that
	// needs them fails with ErrNoSpace. It is not asked for the first two segments, since a log that has two can always
	// go on once it is truncated: then one becomes the other's successor; nor for what a batch takes that is larger
	// than a segment, while there are no more than three. It is called under locks of the log: it may call Room,
	// Wanted and TailBytes, and nothing else of it.
	Grow func(bytes int64) bool
	// CacheBytes bounds the memory that holds the newest records. Default 16 MiB; negative: no cache.
	CacheBytes int64
	// MarkInterval is how often Run records how far the log was synced: the mark. Damage to batches
	// older than the mark is distinguished from a torn tail even if they are the last ones. Default 5
	// s. Close also sets the mark.
	MarkInterval time.Duration
	// OnSync, if set, is called after each sync of records with the time that the sync took, by the goroutine that
	// appends: it must be quick.
	OnSync func(time.Duration)

	Logger *slog.Logger     // default slog.Default()
	FS     FS               // default: the operating system's
	Rand   io.Reader        // source of salts; default crypto/rand
	Now    func() time.Time // measures syncs; default time.Now
}

const (
	minSegmentBytes = 16 << 10
	maxSegmentBytes = 1 << 30
	// maxBatchBytes is what one Append may take on disk. Offsets within a segment, however large, stay below 2³².
	maxBatchBytes = 1 << 30
	// truncationReserve is the end of each segment that records leave free, so that a full disk can still be truncated.
	truncationReserve = 4096
)

func (o Options) withDefaults() (Options, error) {
	o.SegmentBytes = cmp.Or(o.SegmentBytes, 64<<20)
	o.SpareSegments = cmp.Or(o.SpareSegments, 2)
	o.CacheBytes = cmp.Or(o.CacheBytes, 16<<20)
	o.MarkInterval = cmp.Or(o.MarkInterval, 5*time.Second)
	if o.SegmentBytes < minSegmentBytes || o.SegmentBytes > maxSegmentBytes || o.SegmentBytes%4096 != 0 {
		return o, fmt.Errorf("wal: SegmentBytes is %d; it must be a multiple of 4096 from %d to %d", o.SegmentBytes,
			minSegmentBytes, maxSegmentBytes)
	}
	if o.MarkInterval < 0 {
		return o, fmt.Errorf("wal: MarkInterval is %v; it must not be negative", o.MarkInterval)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.FS == nil {
		o.FS = vfs.OS{}
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Grow == nil {
		o.Grow = func(int64) bool { return true }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}
