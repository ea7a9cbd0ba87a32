package wal

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/vfs"
)

// FS is the file system as the log sees it; see Options.FS. Methods may be called concurrently. A full disk is reported
// as an error that wraps syscall.ENOSPC or EDQUOT.
type FS interface {
	// MkdirAll creates the folder and its parents, durably.
	MkdirAll(dir string) error
	// List returns the names in dir, in any order.
	List(dir string) ([]string, error)
	// Create makes an empty file, open for reading and writing; it replaces a file of that name. Durable only after
	// SyncDir.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing. A missing one is fs.ErrNotExist.
	Open(name string) (File, error)
	// Rename replaces newname atomically. Durable only after SyncDir.
	Rename(oldname, newname string) error
	// Remove unlinks a file. Durable only after SyncDir.
	Remove(name string) error
	// SyncDir makes creations, renames and removals in dir durable.
	SyncDir(dir string) error
	// Lock takes an exclusive lock that ends with Close or with the process. If it is taken, the error wraps
	// syscall.EWOULDBLOCK.
	Lock(name string) (io.Closer, error)
}

// The file systems of package vfs are also this one.
var _ FS = vfs.FS(nil)

// File is an open file. ReadAt may be called concurrently with everything else.
//
// It is an alias of an interface without a name, so that a file system need not import this package to be an FS.
type File = interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes all that was written, and the file's size, durable (fdatasync).
	Sync() error
	// Size returns the length of the file in bytes.
	Size() (int64, error)
	// Allocate grows the file to size with zeros that are really written, so that overwriting them later takes no space
	// and changes no metadata. It does not shrink a file. Durable after Sync. After an error the file has its old size.
	Allocate(size int64) error
}

// Names of the files in the log's folder.
const (
	lockName      = "lock"
	manifestName  = "manifest"
	segmentSuffix = ".seg"   // a segment in use, or prepared as the next one
	spareSuffix   = ".spare" // a recycled file that waits for its next use
	tempSuffix    = ".tmp"   // a file being made; never needed after a crash
)

func segmentName(id uint64) string { return fmt.Sprintf("%020d%s", id, segmentSuffix) }

func parseSegmentName(name string) (id uint64, ok bool) {
	digits, found := strings.CutSuffix(name, segmentSuffix)
	if !found {
		return 0, false
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	return id, err == nil && segmentName(id) == name
}

// folder is an FS with the log's directory filled in.
type folder struct {
	fs  FS
	dir string
}

func (f folder) path(name string) string          { return filepath.Join(f.dir, name) }
func (f folder) list() ([]string, error)          { return f.fs.List(f.dir) }
func (f folder) create(name string) (File, error) { return f.fs.Create(f.path(name)) }
func (f folder) open(name string) (File, error)   { return f.fs.Open(f.path(name)) }
func (f folder) rename(oldname, newname string) error {
	return f.fs.Rename(f.path(oldname), f.path(newname))
}
func (f folder) remove(name string) error { return f.fs.Remove(f.path(name)) }
func (f folder) sync() error              { return f.fs.SyncDir(f.dir) }
