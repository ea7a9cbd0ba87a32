package wal

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/turnlog/turnlog/internal/descriptors"
)

var (
	// ErrNotFound: the index is outside of FirstIndex…LastIndex.
	ErrNotFound = errors.New("wal: no record with this index")
	// ErrOutOfOrder: the indexes given do not continue the log, or lie outside of it. Nothing was written.
	ErrOutOfOrder = errors.New("wal: index out of order")
	// ErrTooLarge: one batch is larger than a segment can ever be. Nothing was written.
	ErrTooLarge = errors.New("wal: batch too large")
	// ErrNoSpace: the disk has no room for another segment. Nothing was written, the log is unchanged, and the same
	// call succeeds once there is room: after TruncateBefore, or when space was freed by other means.
	ErrNoSpace = errors.New("wal: no space left for another segment; nothing was written")
	// ErrNewer: a file was written by a newer version of this program. Nothing was changed.
	ErrNewer = errors.New("wal: written by a newer version of the program; run that version, or restore from a backup")
	// ErrLocked: another process (or another Log in this one) has the folder open.
	ErrLocked = errors.New("wal: the log is open elsewhere")
	// ErrClosed: the log was closed.
	ErrClosed = errors.New("wal: closed")
)

// CorruptError means that durable data cannot be read back. The files were not changed.
type CorruptError struct {
	File   string // path of the damaged or missing file
	Offset int64  // where in the file the damage was noticed
	Index  uint64 // the record expected there; 0 when none can be named
	Reason string
}

func (e *CorruptError) Error() string {
	at := fmt.Sprintf("wal: corrupt: %s at offset %d", e.File, e.Offset)
	if e.Index > 0 {
		at += fmt.Sprintf(", record %d", e.Index)
	}
	return at + ": " + e.Reason + "; acknowledged records may be lost, so this node must not go on with this log: " +
		"keep a copy of the folder, remove the node from the cluster, and add it again with an empty folder"
}

// FailedError is the first failed write or sync of a log. The log has stopped: all later calls return
// this error. Whether the call that failed took place is unknown until the log is opened again.
type FailedError struct {
	Op   string // "write", "sync", "rename", …
	File string
	Err  error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("wal: %s %s: %v; the log is stopped, the outcome of this call is unknown; check the disk, "+
		"then restart the process", e.Op, e.File, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// isNoSpace tells a full disk (or quota) from a sick one. A missing file descriptor
// is like a full disk: nothing was written, and it may be there later.
func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || descriptors.Missing(err)
}
