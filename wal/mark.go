package wal

// endMark is the end of what readers see, all of which is durable.
func (l *Log) endMark(m manifest) mark {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if n := len(l.table.segments); n > 0 {
		s := l.table.segments[n-1]
		return mark{segment: s.id, offset: s.end, next: l.table.next}
	}
	return mark{segment: m.first, offset: headerSize}
}

// writeManifestLocked makes next the manifest, with the mark at the present end of the log. The caller holds admin.
func (l *Log) writeManifestLocked(next manifest) error {
	next.mark = l.endMark(next)
	if err := l.manifest.write(next); err != nil {
		return l.fail("write", l.dir.path(manifestName), err)
	}
	return nil
}

func (l *Log) setMark() error {
	l.admin.Lock()
	defer l.admin.Unlock()
	if err := l.stopped(); err != nil {
		return err
	}
	return l.setMarkLocked()
}

func (l *Log) setMarkLocked() error {
	if now := l.manifest.now; now.mark == l.endMark(now) {
		return nil
	}
	return l.writeManifestLocked(l.manifest.now)
}
