package wal

import (
	"errors"
	"fmt"
)

// The life of a segment file: zeros, or a spare → prepared, and named by the manifest → in use → without live records,
// so no longer named → spare again, or removed. Each arrow is durable before the next one. All of it happens under the
// admin lock.

// prepareLocked adds a segment to ready. When it returns nil, the file, its name and its entry in the manifest are
// durable.
func (l *Log) prepareLocked() error {
	id := l.manifest.now.last + 1
	salt, err := l.randomID()
	if err != nil {
		return err
	}
	h := header{logID: l.manifest.now.logID, id: id, salt: salt, size: l.opts.SegmentBytes}
	file, name, err := l.blankFileLocked(id)
	if err == nil {
		if _, err = file.WriteAt(h.encode(), 0); err == nil {
			err = file.Sync()
		}
	}
	if err == nil {
		err = l.dir.rename(name, segmentName(id))
	}
	if isNoSpace(err) {
		return l.giveUpLocked(file, name, err)
	} else if err != nil {
		return l.fail("prepare", l.dir.path(name), err)
	}
	if err := l.dir.sync(); err != nil {
		return l.fail("sync", l.dir.dir, err)
	}
	next := l.manifest.now
	next.last = id
	if err := l.writeManifestLocked(next); err != nil {
		return err
	}
	l.mu.Lock()
	l.ready = append(l.ready, newSegment(l.dir, h, file))
	l.mu.Unlock()
	return nil
}

// blankFileLocked returns a file of the size of a segment: a recycled one, or a new one filled with zeros.
func (l *Log) blankFileLocked(id uint64) (file File, name string, err error) {
	if n := len(l.spares); n > 0 {
		name, l.spares = l.spares[n-1], l.spares[:n-1]
		if file, err = l.dir.open(name); err != nil && isNoSpace(err) {
			l.spares = append(l.spares, name) // for the next try
		}
		return file, name, err
	}
	name = segmentName(id) + tempSuffix
	if file, err = l.dir.create(name); err != nil {
		return nil, name, err
	}
	return file, name, file.Allocate(l.opts.SegmentBytes)
}

// giveUpLocked removes a segment that could not be prepared for want of space.
func (l *Log) giveUpLocked(file File, name string, cause error) error {
	if file != nil {
		file.Close()
		if err := l.dir.remove(name); err != nil {
			return l.fail("remove", l.dir.path(name), err)
		}
	}
	return fmt.Errorf("%w: %w", ErrNoSpace, cause)
}

// growReady makes an unused segment large enough for a batch that is larger than a segment.
func (l *Log) growReady(s *segment, size int64) error {
	l.admin.Lock()
	defer l.admin.Unlock()
	grown := s.header
	grown.size = (size + 4095) &^ 4095
	err := s.file.Allocate(grown.size)
	if isNoSpace(err) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	// The header may say the new size only when the file surely has it.
	for _, step := range []func() error{
		s.file.Sync,
		func() error { _, err := s.file.WriteAt(grown.encode(), 0); return err },
		s.file.Sync,
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		return l.fail("grow", s.path, err)
	}
	l.mu.Lock()
	s.header = grown
	l.mu.Unlock()
	return nil
}

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
	if len(l.spares) < l.opts.SpareSegments {
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
