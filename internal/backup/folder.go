package backup

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/turnlog/turnlog/internal/vfs"
)

const (
	prefix   = "turnlog-"
	ext      = ".tlb"
	lockName = ".turnlog-backup.lock"
)

// Name returns the name of a backup in a folder: by time, then log entry, then cluster, so that those of two clusters
// have different names.
func (d *Description) Name() string {
	sum := sha256.Sum256([]byte(d.ClusterID)) // an id could be no part of a name
	return fmt.Sprintf("%s%s-%d-%x%s", prefix, d.Created.UTC().Format("20060102T150405Z"), d.Index, sum[:6], ext)
}

// Entry is a backup in a folder.
type Entry struct {
	Path        string
	Size        int64
	Description Description
	// Err is why it cannot be read, nil if its beginning can: only verifying it tells whether the rest can.
	Err error
}

// Folder is a folder of backups, locked: one process at a time adds to it.
type Folder struct {
	dir  string
	lock io.Closer
}

// OpenFolder makes a folder if it is not there, locks it, and removes what backups left that a crash
// ended.
func OpenFolder(dir string) (*Folder, error) {
	if err := (vfs.OS{}).MkdirAll(dir); err != nil {
		return nil, err
	}
	lock, err := vfs.OS{}.Lock(filepath.Join(dir, lockName))
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("another backup is being written to %s: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	left, err := filepath.Glob(filepath.Join(escapeGlob(dir), prefix+"*"+ext+partial))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Folder{dir, lock}, nil
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// Close unlocks the folder.
func (f *Folder) Close() error { return f.lock.Close() }

// Add has write fill a new backup, and returns its path. One that is there is never replaced.
func (f *Folder) Add(d Description, write func(io.Writer) error) (string, error) {
	path := filepath.Join(f.dir, d.Name())
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return path, cmp.Or(err, fmt.Errorf("%s is there already", path))
	}
	return path, WriteFile(path, write)
}

// Rotate removes the oldest backups of the cluster that added is of, but for so many, and returns their paths. Added
// is what was added last: it must go further than all others, and be whole, else nothing is removed. Backups of
// other clusters, those that cannot be read, and what is none, stay.
func (f *Folder) Rotate(added string, keep int) (removed []string, err error) {
	d, _, err := VerifyFile(added)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read back: %w", added, err)
	}
	all, err := List(f.dir)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e Entry) bool { return e.Err != nil || e.Description.ClusterID != d.ClusterID })
	if newest := all[len(all)-1]; newest.Path != added {
		return nil, fmt.Errorf("%s goes further than %s, which was added last", newest.Path, added)
	}
	for len(all) > keep {
		if err := os.Remove(all[0].Path); err != nil {
			return removed, err
		}
		removed = append(removed, all[0].Path)
		all = all[1:]
	}
	return removed, vfs.OS{}.SyncDir(f.dir)
}

// List returns the backups in a folder, by cluster, then by the log entry up to which they go. It reads what they
// say of themselves at their beginning. Those that cannot be read come first, with their Err.
func List(dir string) (all []Entry, err error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), prefix+"*"+ext))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		e := Entry{Path: path}
		if e.Size, e.Description, e.Err = describe(path); errors.Is(e.Err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Description.ClusterID, b.Description.ClusterID),
			cmp.Compare(a.Description.Index, b.Description.Index), a.Description.Created.Compare(b.Description.Created))
	})
	return all, nil
}

func describe(path string) (size int64, d Description, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe is no backup, and not waited for
	if err != nil {
		return 0, d, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, d, err
	}
	r, err := NewReader(f)
	if err != nil {
		return info.Size(), d, err
	}
	return info.Size(), r.Description, nil
}
