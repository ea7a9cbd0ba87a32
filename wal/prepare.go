package wal

import "fmt"

// prepareLocked adds a segment to ready. When it returns nil, the file, its name and its entry in the manifest are
// durable.
func (l *Log) prepareLocked() error {
	if len(l.spares) == 0 && l.files() >= unaskedFiles && !l.opts.Grow(l.opts.SegmentBytes) {
		l.wanted.Store(true)
		return fmt.Errorf("%w: the next segment would take space that is reserved", ErrNoSpace)
	}
	l.wanted.Store(false)
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

// unaskedFiles is for how many segments Grow is not asked.
const unaskedFiles = 2

// files returns how many files hold records or are ready to.
func (l *Log) files() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.table.segments) + len(l.ready)
}

// Wanted returns how many bytes of the disk the log is waiting for, to prepare its next segment: none if that is ready
// or being prepared.
func (l *Log) Wanted() int64 {
	if !l.wanted.Load() {
		return 0
	}
	return l.opts.SegmentBytes
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
	l.wanted.Store(true)
	if file != nil {
		file.Close()
		if err := l.dir.remove(name); err != nil {
			return l.fail("remove", l.dir.path(name), err)
		}
	}
	return fmt.Errorf("%w: %w", ErrNoSpace, cause)
}

// growReady makes an unused segment large enough for a batch that is larger than a segment.
//
// A log that has been cut does not ask: a follower has to take what the others have committed. Its records may lie in
// one segment, or in two.
func (l *Log) growReady(s *segment, size int64) error {
	l.admin.Lock()
	defer l.admin.Unlock()
	grown := s.header
	grown.size = (size + 4095) &^ 4095
	if l.files() > unaskedFiles+1 && !l.opts.Grow(grown.size-s.size) {
		return fmt.Errorf("%w: a segment for this batch would take space that is reserved", ErrNoSpace)
	}
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
