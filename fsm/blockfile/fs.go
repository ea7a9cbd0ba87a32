package blockfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/turnlog/turnlog/internal/descriptors"
)

// FS is what a Set needs of a file system.
type FS interface {
	// MkdirAll creates the folder and its parents, durably.
	MkdirAll(dir string) error
	// List returns the names in dir, in any order.
	List(dir string) ([]string, error)
	// Create makes an empty file for reading and writing; it replaces a file of
	// that name. Durable only after SyncDir.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// Remove unlinks a file, which can still be read where it is open.
	Remove(name string) error
	// SyncDir makes creations and removals in dir durable.
	SyncDir(dir string) error
}

// File is an open file. ReadAt may be called by any goroutine.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes what was written, and the file's size, durable.
	Sync() error
	// Size returns the length of the file in bytes.
	Size() (int64, error)
}

// OS is the operating system's file system.
type OS struct{}

func (OS) MkdirAll(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return OS{}.SyncDir(filepath.Dir(dir))
}

func (OS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (OS) Create(name string) (File, error) {
	return wrap(descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600) }))
}

func (OS) Open(name string) (File, error) {
	return wrap(descriptors.Open(func() (*os.File, error) { return os.OpenFile(name, os.O_RDWR, 0) }))
}

func (OS) Remove(name string) error { return os.Remove(name) }

func (OS) SyncDir(dir string) error {
	d, err := descriptors.Open(func() (*os.File, error) { return os.Open(dir) })
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFile struct{ *os.File }

// WriteAt has the kernel begin to write at once, so that a Sync that follows much
// writing does not hold up everybody else's.
func (f osFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(b, off)
	if err == nil {
		beginWriting(f.File, off, int64(n))
	}
	return n, err
}

func wrap(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return datasync(f.File) }
