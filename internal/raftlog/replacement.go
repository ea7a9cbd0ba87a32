package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/wal"
)

// Names in a data directory: of the log of engine "wal", of a damaged one until a leader has sent
// what was in it, and of the one that is to take its place, in the making.
const (
	WALName     = "wal"
	DamagedName = "damaged-log"
	newName     = "new-log"
)

// Replacement replaces the damaged log of engine "wal" in a data directory by one of the entries
// before the damage. One goroutine uses it at a time.
type Replacement struct{ Dir string }

func (r Replacement) log() string     { return filepath.Join(r.Dir, WALName) }
func (r Replacement) damaged() string { return filepath.Join(r.Dir, DamagedName) }
func (r Replacement) fresh() string   { return filepath.Join(r.Dir, newName) }

// Make makes the new log, in place of what an earlier attempt left. The damaged one stays as it
// is. fit is asked at the end: its error is why the new log is not to be used.
func (r Replacement) Make(opts wal.Options, fit func(made Engine) error) error {
	if err := r.Discard(); err != nil {
		return err
	}
	// What the log would have held if it ended there; the damage itself is known.
	report, _ := wal.Walk(r.log(), wal.Options{}, nil)
	made, err := wal.Open(r.fresh(), opts)
	if err != nil {
		return err
	}
	if report.LastIndex > 0 {
		err = copyPrefix(r.log(), made, report.FirstIndex, report.LastIndex)
	}
	if err == nil {
		err = fit(OverWAL(made))
	}
	return errors.Join(err, made.Close())
}

const copyBytes = 4 << 20 // of records at a time

// copyPrefix copies the records from first to last, which come before the damage.
func copyPrefix(from string, to *wal.Log, first, last uint64) error {
	var records []wal.Record
	bytes, next := 0, first
	flush := func() error {
		err := to.Append(records)
		records, bytes = nil, 0
		return err
	}
	_, err := wal.Walk(from, wal.Options{}, func(b wal.Batch) error {
		batch, err := b.Records()
		if err != nil {
			return err
		}
		if b.Index < next && b.Index >= first { // it takes the place of some
			if err := flush(); err != nil {
				return err
			}
			if err := to.TruncateAfter(b.Index - 1); err != nil {
				return err
			}
			next = b.Index
		}
		for _, r := range batch {
			if r.Index != next || r.Index > last {
				continue
			}
			records, next = append(records, r), next+1
			if bytes += len(r.Data); bytes >= copyBytes {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	var corrupt *wal.CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	if to.LastIndex() != last {
		return fmt.Errorf("of the damaged log, entries %d to %d are readable, and %d was copied last", first, last,
			to.LastIndex())
	}
	return nil
}

// Discard removes a new log that has not taken the damaged one's place.
func (r Replacement) Discard() error { return os.RemoveAll(r.fresh()) }

// Place has the new log change places with the damaged one. After a crash in between there is no
// log, and Undo puts the damaged one back.
func (r Replacement) Place() error {
	if _, err := os.Stat(r.damaged()); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(r.log(), r.damaged()); err != nil {
			return err
		}
	} else if err := os.RemoveAll(r.log()); err != nil { // the first one had more
		return err
	}
	if err := os.Rename(r.fresh(), r.log()); err != nil {
		return err
	}
	return vfs.OS{}.SyncDir(r.Dir)
}

// Undo undoes what a crash left of Place. It does nothing if there is a log.
func (r Replacement) Undo() error {
	if _, err := os.Stat(r.log()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(r.damaged(), r.log()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return vfs.OS{}.SyncDir(r.Dir)
}

// Forget removes a damaged log that was replaced, if there is one.
func (r Replacement) Forget() error {
	if _, err := os.Stat(r.damaged()); err != nil {
		return nil
	}
	return os.RemoveAll(r.damaged())
}
