package fsm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/vfs"
	"github.com/turnlog/turnlog/internal/vfs/simdisk"
)

const (
	pageBytes = 4096
	sector    = simdisk.SectorSize
)

// powerDisk is a simulated disk on which bbolt's files are, too. bbolt has to have its files on
// the operating system's disk, so each of them is there as well, and the simulated disk is told
// what is done to it.
//
// bbolt's writes are seen one by one. Its syncs are not, but bbolt makes them before
// and after it writes a page with its root, unless NoSync is set; what else syncs
// goes through the disk. It is for one goroutine.
type powerDisk struct {
	*simdisk.Disk
	t      testing.TB
	full   func() bool         // reports whether the next write finds the disk full, half done
	before func(op simdisk.Op) // called before each operation
	rooted *powerStore         // a root was written to it, the sync after that has not been told yet
}

// powerStore is a file that bbolt has open.
type powerStore struct {
	disk *powerDisk
	db   *bbolt.DB
	file vfs.File // on the simulated disk
	size int64
}

func newPowerDisk(t testing.TB, before func(op simdisk.Op)) *powerDisk {
	d := &powerDisk{Disk: simdisk.New(), t: t, before: before, full: func() bool { return false }}
	d.Observe(func(op simdisk.Op) {
		if op.Changes() {
			d.settle()
		}
		d.before(op)
	})
	d.Fail(func(op simdisk.Op) error {
		if op.Kind != simdisk.Write || !d.full() {
			return nil
		}
		short := &simdisk.ShortWrite{N: int(op.Length / 2),
			Err: &os.PathError{Op: "write", Path: op.Name, Err: syscall.ENOSPC}}
		if isStore(op.Name) && op.Offset < 2*pageBytes {
			short.N = 0 // a single page: whole or not at all
		}
		return short
	})
	return d
}

func isStore(path string) bool { return strings.HasPrefix(filepath.Base(path), "state.db") }

// quietly calls f with a disk that has room.
func (d *powerDisk) quietly(f func()) {
	full := d.full
	d.full = func() bool { return false }
	f()
	d.full = full
}

// settle tells the sync that bbolt has made since its last write.
func (d *powerDisk) settle() {
	s := d.rooted
	d.rooted = nil
	if s != nil && !s.db.NoSync {
		d.must(s.file.Sync())
	}
}

func (d *powerDisk) must(errs ...error) {
	d.t.Helper()
	if err := errors.Join(errs...); err != nil {
		d.t.Fatal(err)
	}
}

func (d *powerDisk) OpenDB(path string, o *bbolt.Options) (*bbolt.DB, error) {
	d.settle()
	_, statErr := os.Stat(path)
	db, err := store.OSDisk{}.OpenDB(path, o)
	if err != nil {
		return nil, err
	}
	if statErr != nil {
		d.quietly(func() { d.created(path) })
	}
	file, err := d.Open(path)
	d.must(err)
	size, err := file.Size()
	d.must(err)
	(&powerStore{disk: d, db: db, file: file, size: size}).intercept()
	return db, nil
}

// created tells that bbolt has made a file.
func (d *powerDisk) created(path string) {
	b, err := os.ReadFile(path)
	d.must(err, d.MkdirAll(filepath.Dir(path)))
	file, err := d.Create(path)
	d.must(err)
	_, err = file.WriteAt(b, 0)
	d.must(err, file.Sync(), file.Close())
}

func (d *powerDisk) SyncDB(db *bbolt.DB) error {
	file, err := d.Open(db.Path())
	d.must(err, file.Sync(), file.Close())
	return nil // no real power will be cut
}

func (d *powerDisk) Rename(from, to string) error {
	d.must(d.Disk.Rename(from, to))
	return os.Rename(from, to) // of a store
}

func (d *powerDisk) Remove(path string) error {
	if err := d.Disk.Remove(path); err != nil {
		return err
	}
	if err := os.Remove(path); isStore(path) || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// intercept has the simulated disk see every write of bbolt.
func (s *powerStore) intercept() {
	hook := reflect.ValueOf(s.db).Elem().FieldByName("ops").FieldByName("writeAt")
	if !hook.IsValid() {
		s.disk.t.Fatal("bbolt has no ops.writeAt any more: find another way to see its writes")
	}
	p := (*func([]byte, int64) (int, error))(unsafe.Pointer(hook.UnsafeAddr()))
	write := *p
	*p = func(b []byte, off int64) (int, error) {
		s.grow()
		root := off < 2*pageBytes
		if root && !s.db.NoSync {
			s.disk.must(s.file.Sync())
		}
		n, err := s.file.WriteAt(b, off)
		if _, werr := write(b[:n], off); err == nil {
			err = werr
		}
		if err == nil && root {
			s.disk.rooted = s
		}
		return n, err
	}
}

// grow tells that bbolt has made the file longer. It syncs that.
func (s *powerStore) grow() {
	s.disk.settle()
	info, err := os.Stat(s.db.Path())
	s.disk.must(err)
	if info.Size() > s.size {
		s.size = info.Size()
		s.disk.must(s.disk.Extend(s.db.Path(), s.size))
	}
}
