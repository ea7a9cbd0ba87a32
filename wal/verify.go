package wal

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/turnlog/turnlog/internal/vfs"
)

// Report is what Verify and Walk found.
type Report struct {
	Dir        string
	LogID      uint64
	Epoch      uint32 // rises with each opening
	FirstIndex uint64 // 0 if there is no record
	LastIndex  uint64
	NextIndex  uint64 // 0: any
	Batches    uint64 // truncations included
	Records    uint64 // dropped ones included, unless they are damaged
	Segments   []SegmentReport
	// Torn is set if the last batch is incomplete. Open would drop it. In the folder of a running node it may be just
	// being written.
	Torn *TornTail `json:",omitempty"`
	// DroppedDamage lists where records are damaged that the log had dropped. Open ignores them: every live record is
	// whole.
	DroppedDamage []DroppedDamage `json:",omitempty"`
	// ManifestDamage says which of the manifest's two copies is damaged, if one is. Open would repair it.
	ManifestDamage string `json:",omitempty"`
}

// SegmentReport describes one segment file.
type SegmentReport struct {
	ID         uint64
	File       string
	State      string // "sealed", "tail" or "ready"
	Size       int64  // of the file
	Used       int64  // of it, up to the end of the last batch
	Live       int    // records that are part of the log
	FirstIndex uint64 // of the live records; 0 if there is none
	LastIndex  uint64
}

// TornTail is an incomplete batch at the end of the log, left behind by a crash.
type TornTail struct {
	File   string
	Offset int64
	Reason string
}

// Batch is one frame of the log.
type Batch struct {
	Segment uint64
	Offset  int64
	Bytes   int64
	Epoch   uint32
	Index   uint64 // of the first record; a batch drops what the log had from here on
	Count   int    // records; 0: this is a truncation
	First   uint64 // FirstIndex after it

	segment *segment
	offsets []uint32
}

// Records reads the batch's records. It may be called only while the batch is being visited.
func (b Batch) Records() ([]Record, error) {
	records := make([]Record, 0, b.Count)
	for i, at := range b.offsets {
		end := b.Offset + b.Bytes
		if i+1 < len(b.offsets) {
			end = int64(b.offsets[i+1])
		}
		r, err := b.segment.read(b.Index+uint64(i), int64(at), end)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// Walk reads the log in dir as Open does, every byte of it, and calls visit (if not nil) for each batch in order. It
// changes nothing and takes no lock. Of opts only FS is used. On an error the report holds what was found before it.
// While a node runs, the end of the log moves as it is read, which can look like damage. Verify allows for that.
func Walk(dir string, opts Options, visit func(Batch) error) (Report, error) {
	f := folder{opts.FS, dir}
	if f.fs == nil {
		f.fs = vfs.OS{OpenReadOnly: true}
	}
	report := Report{Dir: dir}
	m, damage, err := openManifest(f)
	if errors.Is(err, fs.ErrNotExist) {
		return report, missingManifest(f)
	} else if err != nil {
		return report, err
	}
	defer m.file.Close()
	report.LogID, report.Epoch, report.ManifestDamage = m.now.logID, m.now.epoch, damage
	segments, err := openSegments(f, m.now)
	defer func() {
		for _, s := range segments {
			s.file.Close()
		}
	}()
	if err != nil {
		return report, err
	}
	r, err := recoverTable(m.now, segments, func(s *segment, fr frame, offsets []uint32) error {
		report.Batches++
		report.Records += uint64(fr.count)
		if visit == nil {
			return nil
		}
		return visit(Batch{Segment: s.id, Offset: int64(fr.at), Bytes: fr.end() - int64(fr.at), Epoch: fr.epoch,
			Index: fr.index, Count: int(fr.count), First: fr.first, segment: s, offsets: offsets})
	})
	report.fill(r)
	return report, err
}

func (report *Report) fill(r *recovered) {
	report.NextIndex = r.next
	if !r.empty() {
		report.FirstIndex, report.LastIndex = r.first, r.next-1
	}
	report.Torn, report.DroppedDamage = r.torn, r.gaps
	for i, s := range r.segments {
		state := "sealed"
		if i == len(r.segments)-1 {
			state = "tail"
		}
		sr := SegmentReport{ID: s.id, File: s.name, State: state, Size: s.size, Used: s.end}
		if from, to := max(s.base, r.first), s.base+uint64(len(s.offsets)); from < to {
			sr.FirstIndex, sr.LastIndex, sr.Live = from, to-1, int(to-from)
		}
		report.Segments = append(report.Segments, sr)
	}
	for _, s := range r.ready {
		report.Segments = append(report.Segments,
			SegmentReport{ID: s.id, File: s.name, State: "ready", Size: s.size, Used: headerSize})
	}
}

// verifyAttempts is how often Verify reads a log that changes under it.
const verifyAttempts = 8

// Verify reads the whole log in dir and returns what it found; the error is the one that Open would return,
// *CorruptError or ErrNewer among others. It changes nothing, takes no lock, and may be used while a node runs:
// damage is reported only if it is seen twice in the same place. Of opts only FS is used.
func Verify(dir string, opts Options) (Report, error) {
	var before error
	for range verifyAttempts {
		report, err := Walk(dir, opts, nil)
		now := report.damage(err)
		if now == nil || before != nil && before.Error() == now.Error() {
			return report, err
		}
		before = now
	}
	return Report{Dir: dir},
		fmt.Errorf("wal: %s is changing too fast to be verified; try again, or stop the node first; last seen: %w",
			dir, before)
}

// damage is what one reading found, and the next one should confirm: the error if it is a *CorruptError, or the damage
// among dropped records.
func (report *Report) damage(err error) error {
	var corrupt *CorruptError
	switch {
	case errors.As(err, &corrupt):
		return corrupt
	case err == nil && len(report.DroppedDamage) > 0:
		return fmt.Errorf("dropped records are damaged: %+v", report.DroppedDamage)
	}
	return nil
}
