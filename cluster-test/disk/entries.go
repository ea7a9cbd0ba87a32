//go:build linux

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// entry is a change of a folder that is not synced yet.
type entry struct {
	folder string
	undo   func() error
	aside  string // holds what the change removed; "" if nothing
}

// change carries out a change of the folder of path, and remembers how to undo
// it. If there is something at path, it is kept.
func (d *Disk) change(path string, do func() syscall.Errno, undo func() error) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isOff() {
		return syscall.EIO
	}
	e := entry{folder: filepath.Dir(path), undo: undo}
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		d.counter++
		e.aside = filepath.Join(d.aside, strconv.Itoa(d.counter))
		if err := os.Link(path, e.aside); err != nil {
			return syscall.EIO
		}
	}
	if errno := do(); errno != 0 {
		if e.aside != "" {
			os.Remove(e.aside)
		}
		return errno
	}
	if aside := e.aside; aside != "" {
		e.undo = func() error { return errors.Join(undo(), os.Rename(aside, path)) }
	}
	d.entries = append(d.entries, e)
	return 0
}

// syncFolder makes the changes of a folder durable.
func (d *Disk) syncFolder(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var left []entry
	for _, e := range d.entries {
		switch {
		case e.folder != path:
			left = append(left, e)
		case e.aside != "":
			os.Remove(e.aside)
		}
	}
	d.entries = left
}

// cutEntries undoes the changes that are not on the disk: journals keep them in
// order, so all from some moment on.
func (d *Disk) cutEntries(f fate) error {
	from := 0
	if f.loss == Some {
		from = f.random.IntN(len(d.entries) + 1)
	}
	var errs []error
	for i := len(d.entries) - 1; i >= 0; i-- {
		e := d.entries[i]
		switch {
		case i >= from:
			// A folder may have gone by the undoing of another one.
			if err := e.undo(); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		case e.aside != "":
			errs = append(errs, os.Remove(e.aside))
		}
	}
	d.entries = nil
	return errors.Join(errs...)
}
