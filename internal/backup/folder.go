package backup

import (
	"cmp"
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

// Name returns the name of a backup in a folder: by time, then log entry.
func (d *Description) Name() string {
	return fmt.Sprintf("%s%s-%d%s", prefix, d.Created.UTC().Format("20060102T150405Z"), d.Index, ext)
}

// Entry is a backup in a folder.
type Entry struct {
	Path        string
	Size        int64
	Description Description
}

// Folder is a folder of backups, locked: one process at a time adds to it.
type Folder struct {
	dir  string
	lock io.Closer
}

// OpenFolder makes a folder if it is not there, locks it, and removes what backups left that a crash
// ended.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
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

// Add has write fill a new backup, and returns its path.
func (f *Folder) Add(d Description, write func(io.Writer) error) (string, error) {
	path := filepath.Join(f.dir, d.Name())
	return path, WriteFile(path, write)
}

// Rotate removes the oldest backups of a cluster but for so many, and returns their paths. Backups of
// other clusters, and what is none, stay.
func (f *Folder) Rotate(clusterID string, keep int) (removed []string, err error) {
	all, err := List(f.dir)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(e Entry) bool { return e.Description.ClusterID != clusterID })
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
// say of themselves at their beginning, and passes over what is no backup.
func List(dir string) (all []Entry, err error) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), prefix+"*"+ext))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		e, err := describe(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Description.ClusterID, b.Description.ClusterID),
			cmp.Compare(a.Description.Index, b.Description.Index), a.Description.Created.Compare(b.Description.Created))
	})
	return all, nil
}

// errNone: a file is no backup.
var errNone = errors.New("it is no backup")

func describe(path string) (Entry, error) {
	f, err := os.Open(path)
	if err != nil {
		return Entry{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Entry{}, err
	}
	r, err := NewReader(f)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", errNone, err)
	}
	return Entry{path, info.Size(), r.Description}, nil
}
