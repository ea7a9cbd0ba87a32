package fsm

import (
	"os"
	"syscall"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/vfs"
)

// thinDisk is one that finds out late that it is full: its syncs fail.
type thinDisk struct{ store.OSDisk }

func (d thinDisk) Create(name string) (vfs.File, error) {
	file, err := d.OSDisk.Create(name)
	return thinFile{file}, err
}

type thinFile struct{ vfs.File }

func (thinFile) Sync() error { return syscall.ENOSPC }

// A full disk is waited for, but a failed sync ends the machine, also if a full
// disk was its reason.
func TestFailedSyncIsFatal(t *testing.T) {
	r := &rig{t: t, dir: t.TempDir(), disk: thinDisk{}}
	r.open()
	defer r.m.Close()
	r.apply(1, appendOf(sessionA, "id", string(make([]byte, 10_000))))
	if err := r.m.Flush(t.Context()); err == nil {
		t.Fatal("flushed without a sync")
	}
	if r.m.Err() == nil {
		t.Fatal("the machine goes on")
	}
	for err, want := range map[error]bool{
		&os.PathError{Op: "write", Err: syscall.ENOSPC}: true,
		&os.PathError{Op: "open", Err: syscall.ENOSPC}:  true,
		&os.PathError{Op: "write", Err: syscall.EDQUOT}: true,
		&os.PathError{Op: "open", Err: syscall.EMFILE}:  true,
		&os.PathError{Op: "open", Err: syscall.ENFILE}:  true,
		&os.PathError{Op: "write", Err: syscall.EIO}:    false,
		&os.PathError{Op: "sync", Err: syscall.ENOSPC}:  false,
		&os.PathError{Op: "sync", Err: syscall.EDQUOT}:  false,
		syscall.ENOSPC: false, // bbolt's sync
	} {
		if store.DiskFull(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}
