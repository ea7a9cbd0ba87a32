package wal

import (
	"errors"
	"fmt"
)

// The life of a segment file: zeros, or a spare → prepared, and named by the manifest → in use → without live records,
// so no longer named → spare again, or removed. Each arrow is durable before the next one. All of it happens under the
// admin lock.

// dropDeadLocked takes the segments without live records out of the log, durably, and recycles their files.
func (l *Log) dropDeadLocked() error {
	l.mu.Lock()
	n := l.table.dead()
	dead := l.table.segments[:n:n]
	l.table.segments = append([]*segment(nil), l.table.segments[n:]...)
	l.mu.Unlock()

	next := l.manifest.now
	next.first += uint64(n)
	if err := l.writeManifestLocked(next); err != nil {
		return err
	}
	for _, s := range dead {
		s.retire()
		if err := errors.Join(s.file.Close(), l.recycleFileLocked(s.name)); err != nil {
			return l.fail("recycle", s.path, err)
		}
	}
	if n == 0 {
		return nil
	}
	if err := l.dir.sync(); err != nil {
		return l.fail("sync", l.dir.dir, err)
	}
	l.wakeKeeper() // there may be room now where there was none
	return nil
}

// recycleFileLocked turns a segment file into a spare, or removes it.
func (l *Log) recycleFileLocked(name string) error {
	id, err := l.randomID() // segment numbers may come back after a crash, so they are no name for a spare
	if err != nil {
		return err
	}
	spare := fmt.Sprintf("%016x%s", id, spareSuffix)
	if err := l.dir.rename(name, spare); err != nil {
		return err
	}
	return l.keepSpareLocked(spare)
}

// keepSpareLocked adds a file to the spares if it has their size and there are not too many.
func (l *Log) keepSpareLocked(name string) error {
	if len(l.spares) < l.spareLimitLocked() {
		size, err := l.fileSize(name)
		if err != nil {
			return err
		}
		if size == l.opts.SegmentBytes {
			l.spares = append(l.spares, name)
			return nil
		}
	}
	return l.dir.remove(name)
}

func (l *Log) fileSize(name string) (int64, error) {
	file, err := l.dir.open(name)
	if err != nil {
		return 0, err
	}
	size, err := file.Size()
	return size, errors.Join(err, file.Close())
}
