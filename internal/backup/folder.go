package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/turnlog/turnlog/internal/vfs"
)

const lockName = ".turnlog-backup.lock"

// Folder is a folder of backups.
type Folder struct {
	dir string
	fs  vfs.FS
}

var _ Storage = (*Folder)(nil)

// NewFolder returns the storage in a folder, which the first Lock makes if it is not there.
func NewFolder(dir string) *Folder { return &Folder{dir, osFiles{}} }

// osFiles is the operating system's file system, for a user that may not be able to write what it reads.
type osFiles struct{ vfs.OS }

// Open opens a regular file for reading. Anything else is none, and is not waited for, as a pipe would be.
func (osFiles) Open(name string) (vfs.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return readOnly{File: f, size: info.Size()}, nil
}

// readOnly is a file of whose methods only the reading ones are called.
type readOnly struct {
	*os.File
	size int64
}

func (f readOnly) Size() (int64, error) { return f.size, nil }

func (readOnly) Allocate(int64) error { return errors.ErrUnsupported }

// Path implements Storage.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// List implements Storage. A folder within a folder has no backups until one is written.
func (f *Folder) List(_ context.Context, dir string) (all []Object, err error) {
	names, err := f.fs.List(f.Path(dir))
	if dir != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		o := Object{Name: path.Join(dir, name)}
		if !IsBackup(name) && !isPack(name) {
			continue
		}
		if file, err := f.fs.Open(f.Path(o.Name)); err == nil {
			o.Size, err = file.Size()
			if err = errors.Join(err, file.Close()); err != nil {
				return nil, err
			}
		} else if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		all = append(all, o)
	}
	return all, nil
}

// Read implements Storage.
func (f *Folder) Read(_ context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	file, err := f.fs.Open(f.Path(name))
	if err != nil {
		return nil, 0, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return fileReader{io.NewSectionReader(file, offset, size-offset), file}, size, nil
}

type fileReader struct {
	io.Reader
	io.Closer
}

// Write implements Storage. The object gets its name when it is on disk; until then it ends in ".partial".
func (f *Folder) Write(_ context.Context, name string, _ int64, fill func(io.Writer) error) (err error) {
	to := f.Path(name)
	if there, err := f.there(name); there || err != nil {
		return errors.Join(err, &fs.PathError{Op: "write", Path: to, Err: fs.ErrExist})
	}
	dir := filepath.Dir(to)
	if err := f.fs.MkdirAll(dir); err != nil {
		return err
	}
	temp := to + Partial
	_ = f.fs.Remove(temp) // if it is a link, what it leads to is another's
	file, err := f.fs.Create(temp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.remove(temp))
		}
	}()
	err = fill(&fileWriter{f: file})
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = f.fs.Rename(temp, to); err != nil {
		return err
	}
	return notSynced(to, f.fs.SyncDir(dir))
}

// there reports whether the folder has an object.
func (f *Folder) there(name string) (bool, error) {
	names, err := f.fs.List(filepath.Dir(f.Path(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	for _, n := range names {
		if n == path.Base(name) {
			return true, err
		}
	}
	return false, err
}

type fileWriter struct {
	f  vfs.File
	at int64
}

func (w *fileWriter) Write(b []byte) (int, error) {
	n, err := w.f.WriteAt(b, w.at)
	w.at += int64(n)
	return n, err
}

// Remove implements Storage.
func (f *Folder) Remove(_ context.Context, name string) error {
	if err := f.remove(f.Path(name)); err != nil {
		return err
	}
	return f.fs.SyncDir(filepath.Dir(f.Path(name)))
}

func (f *Folder) remove(path string) error {
	if err := f.fs.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Lock implements Storage. The lock ends with the process.
func (f *Folder) Lock(context.Context) (Lock, error) {
	if err := f.fs.MkdirAll(f.dir); err != nil {
		return nil, err
	}
	lock, err := f.fs.Lock(filepath.Join(f.dir, lockName))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another backup is being written to %s: %w", f.dir, err)
	}
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.removePartial(""), f.removePartial(packDir)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return folderLock{lock}, nil
}

// removePartial removes what crashes left in a folder.
func (f *Folder) removePartial(dir string) error {
	names, err := f.fs.List(f.Path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if whole, isPartial := strings.CutSuffix(name, Partial); isPartial && (IsBackup(whole) || isPack(whole)) {
			err = errors.Join(err, f.fs.Remove(f.Path(path.Join(dir, name))))
		}
	}
	return err
}

type folderLock struct{ io.Closer }

func (folderLock) Held(context.Context) error { return nil }
