package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// Open opens the log in dir, and makes an empty one if there is none. It verifies every record, drops a torn last
// batch, warns of damage to dropped records, and takes the space of the first segment. It starts nothing: see Run.
// Errors: *CorruptError, ErrNewer, ErrLocked, ErrNoSpace, or that of a failed file operation. Nothing is changed if it
// is one of the first three.
func Open(dir string, opts Options) (*Log, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	l := &Log{
		opts: opts,
		dir:  folder{opts.FS, dir},
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	l.cache.limit = opts.CacheBytes
	if err := opts.FS.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("wal: create directory: %w", err)
	}
	if l.lock, err = opts.FS.Lock(l.dir.path(lockName)); errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("wal: %s: %w", dir, ErrLocked)
	} else if err != nil {
		return nil, fmt.Errorf("wal: %s: %w", dir, err)
	}
	if err := l.open(); err != nil {
		return nil, errors.Join(err, l.abandon())
	}
	return l, nil
}

// open does Open's work, with the folder locked.
func (l *Log) open() error {
	names, err := l.dir.list()
	if err != nil {
		return fmt.Errorf("wal: list directory: %w", err)
	}
	if err := l.openManifest(); err != nil {
		return err
	}
	m := l.manifest.now
	segments, err := openSegments(l.dir, m)
	l.ready = segments // so that abandon closes them
	if err != nil {
		return err
	}
	r, err := recoverTable(m, segments, nil)
	if err != nil {
		return err
	}
	l.table, l.ready = r.table, r.ready
	if r.torn != nil {
		l.counters.tornTail.Store(true)
		l.opts.Logger.Warn("the log ended in an incomplete batch, as after a crash; the batch was dropped", "file",
			r.torn.File, "offset", r.torn.Offset, "reason", r.torn.Reason)
	}
	if n := len(r.gaps); n > 0 {
		l.opts.Logger.Warn("the log has damage among dropped records; every live record is intact", "places", n,
			"file", r.gaps[0].File, "offset", r.gaps[0].Offset, "reason", r.gaps[0].Reason)
	}
	l.admin.Lock()
	defer l.admin.Unlock()
	if err := l.rewriteLast(r.last); err != nil {
		return err
	}
	// From here on the tail may be overwritten, so whatever is beyond it must become invalid first.
	l.manifest.now.epoch++
	l.epoch = l.manifest.now.epoch
	if err := l.dropDeadLocked(); err != nil {
		return err
	}
	if err := l.cleanLocked(names); err != nil {
		return err
	}
	if len(l.table.segments)+len(l.ready) == 0 {
		return l.prepareLocked()
	}
	return nil
}

// openManifest opens the manifest, or makes it if the folder holds no log yet.
func (l *Log) openManifest() error {
	m, damaged, err := openManifest(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := missingManifest(l.dir); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// The crash of an earlier attempt may have come between the making of the folder and the sync of its parent.
		if err := l.opts.FS.SyncDir(filepath.Dir(l.dir.dir)); err != nil {
			return fmt.Errorf("wal: sync the parent of %s: %w", l.dir.dir, err)
		}
		id, err := l.randomID()
		if err != nil {
			return err
		}
		if l.manifest, err = createManifest(l.dir, id); isNoSpace(err) {
			return fmt.Errorf("%w: %w", ErrNoSpace, err)
		} else if err != nil {
			return fmt.Errorf("wal: create manifest: %w", err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if damaged != "" {
		l.opts.Logger.Warn("repairing the log's manifest from its other copy", "file", l.dir.path(manifestName),
			"damage", damaged)
	}
	l.manifest = m
	return nil
}

// rewriteLast makes the newest batch durable. It verified, but perhaps only in the kernel's memory: the process may
// have died before its sync, or the sync may have failed, after which the kernel holds the pages for clean. So they are
// written once more. All earlier batches were synced before it was written.
func (l *Log) rewriteLast(f frame) error {
	s := l.tail()
	if s == nil {
		return nil
	}
	b := make([]byte, f.end()-int64(f.at))
	if err := readFull(s.file, b, int64(f.at)); err != nil {
		return s.readError(err, int64(f.at), f.index)
	}
	if _, err := s.file.WriteAt(b, int64(f.at)); err != nil {
		return l.fail("write", s.path, err)
	}
	if err := s.file.Sync(); err != nil {
		return l.fail("sync", s.path, err)
	}
	return nil
}

// openSegments opens the files that the manifest names. On an error it returns those that it had opened.
func openSegments(dir folder, m manifest) ([]*segment, error) {
	var segments []*segment
	for id := m.first; id <= m.last; id++ {
		s, err := openSegment(dir, m.logID, id)
		if err != nil {
			return segments, err
		}
		segments = append(segments, s)
	}
	return segments, nil
}

// cleanLocked clears the folder of what a crash left: half-made files go, segments that the manifest does not name
// become spares.
func (l *Log) cleanLocked(names []string) error {
	changed := false
	for _, name := range names {
		var err error
		id, isSegment := parseSegmentName(name)
		switch {
		case strings.HasSuffix(name, tempSuffix):
			err = l.dir.remove(name)
		case strings.HasSuffix(name, spareSuffix):
			err = l.keepSpareLocked(name)
		case isSegment && (id < l.manifest.now.first || id > l.manifest.now.last):
			err = l.recycleFileLocked(name)
		default:
			continue
		}
		// The names are from the beginning of Open, which has renamed some of the files since.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("wal: clear %s: %w", l.dir.path(name), err)
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return l.dir.sync()
}

// abandon releases everything after a failed Open.
func (l *Log) abandon() error {
	var errs []error
	for _, s := range append(l.table.segments, l.ready...) {
		errs = append(errs, s.file.Close())
	}
	if l.manifest != nil {
		errs = append(errs, l.manifest.file.Close())
	}
	return errors.Join(append(errs, l.lock.Close())...)
}

// missingManifest says what a folder without a manifest is.
func missingManifest(f folder) error {
	names, err := f.list()
	if err != nil {
		return fmt.Errorf("wal: list directory: %w", err)
	}
	for _, name := range names {
		if _, ok := parseSegmentName(name); ok {
			return &CorruptError{File: f.path(manifestName), Reason: "the file is missing, though there are segments"}
		}
	}
	return fmt.Errorf("wal: there is no log in %s: %w", f.dir, fs.ErrNotExist)
}

// Close sets the mark and releases the folder. Calls that are waiting fail with ErrClosed, and Run returns. Closing
// again is harmless.
func (l *Log) Close() error {
	l.writer.Lock()
	defer l.writer.Unlock()
	l.admin.Lock()
	defer l.admin.Unlock()
	select {
	case <-l.done:
		return nil
	default:
	}
	var err error
	if l.stopped() == nil {
		err = l.setMarkLocked()
	}
	close(l.done)
	closed := ErrClosed
	l.failure.CompareAndSwap(nil, &closed)
	l.mu.Lock()
	segments := append(append([]*segment(nil), l.table.segments...), l.ready...)
	l.mu.Unlock()
	for _, s := range segments {
		s.retire()
		err = errors.Join(err, s.file.Close())
	}
	return errors.Join(err, l.manifest.file.Close(), l.lock.Close())
}
