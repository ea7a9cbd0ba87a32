package wal

import "fmt"

// A truncation is a frame without records, so it is one write and one sync, and atomic. The files that it made useless
// are recycled afterwards; if a crash comes between, the next Open does that.

// TruncateBefore drops the records below index; FirstIndex becomes index. Dropping all of them, with index =
// LastIndex+1, leaves an empty log whose next record must be index. An index at or below FirstIndex changes nothing.
// Errors: as Append; ErrOutOfOrder if index lies beyond the end.
func (l *Log) TruncateBefore(index uint64) error {
	if err := l.truncateBefore(index); err != nil {
		return err
	}
	return l.dropDead()
}

func (l *Log) truncateBefore(index uint64) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.stopped(); err != nil {
		return err
	}
	switch {
	case index <= l.table.first:
		return nil
	case index > l.table.next:
		return fmt.Errorf("%w: cannot drop everything before %d: the log ends before %d", ErrOutOfOrder, index,
			l.table.next)
	}
	return l.commitLocked(l.table.next, index, nil)
}

// TruncateAfter drops the records above index; LastIndex becomes index. Dropping all of them, with index =
// FirstIndex-1, leaves an empty log whose next record must be index+1. An index at or above LastIndex changes nothing.
// Errors: as Append; ErrOutOfOrder if index lies before FirstIndex-1.
func (l *Log) TruncateAfter(index uint64) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.stopped(); err != nil {
		return err
	}
	switch {
	case l.table.next == 0 || index >= l.table.next-1:
		return nil
	case index+1 < l.table.first:
		return fmt.Errorf("%w: cannot drop everything after %d: the log begins at %d", ErrOutOfOrder, index,
			l.table.first)
	}
	return l.commitLocked(index+1, l.table.first, nil)
}

// Reset drops all records. The next record must have the index next; if next is 0, it may have any.
// Errors: as Append.
func (l *Log) Reset(next uint64) error {
	if err := l.reset(next); err != nil {
		return err
	}
	return l.dropDead()
}

func (l *Log) reset(next uint64) error {
	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.stopped(); err != nil {
		return err
	}
	return l.commitLocked(next, next, nil)
}

// dropDead recycles the segments that hold nothing live any more.
func (l *Log) dropDead() error {
	l.admin.Lock()
	defer l.admin.Unlock()
	if err := l.stopped(); err != nil {
		return err
	}
	l.mu.RLock()
	dead := l.table.dead()
	l.mu.RUnlock()
	if dead == 0 {
		return nil
	}
	return l.dropDeadLocked()
}
