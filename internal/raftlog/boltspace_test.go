package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/wal"
)

// A quota that is used up is a full disk, with either engine.
func TestBoltBeyondAQuota(t *testing.T) {
	for why, full := range map[syscall.Errno]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		err := notStored(fmt.Errorf("commit: %w", &fs.PathError{Op: "write", Path: "log.db", Err: why}))
		if errors.Is(err, wal.ErrNoSpace) != full || !errors.Is(err, why) {
			t.Errorf("%v is told as: %v", why, err)
		}
	}
}
