package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
)

// Entry is a backup in a storage.
type Entry struct {
	Name        string // in the storage
	Path        string // what people call it
	Size        int64
	Description Description
	// Err is why it cannot be read, nil if its beginning can: only verifying it tells whether the rest can.
	Err error
}

// Repository is a storage of backups that one process at a time adds to.
type Repository struct {
	Storage
	lock Lock
	// packBytes is how long a pack is about.
	packBytes int
}

// OpenRepository locks a storage.
func OpenRepository(ctx context.Context, s Storage) (*Repository, error) {
	lock, err := s.Lock(ctx)
	if err != nil {
		return nil, err
	}
	return &Repository{s, lock, packBytes}, nil
}

// Close unlocks the storage.
func (r *Repository) Close() error { return r.lock.Close() }

// Add has write fill a new backup, and returns its name. One that is there is never replaced.
func (r *Repository) Add(ctx context.Context, d Description, write func(io.Writer) error) (string, error) {
	name := d.Name()
	err := r.Write(ctx, name, fileMax(d.Bytes), write)
	if errors.Is(err, fs.ErrExist) {
		return name, fmt.Errorf("%s is there already: %w", r.Path(name), err)
	}
	return name, err
}

// fileMax is how long a backup of a dump is at most.
func fileMax(dump int64) int64 { return dump + dump/8 + 1<<20 }

// List returns the backups in a storage, by cluster, then by the log entry up to which they go. It reads what they
// say of themselves at their beginning. Those that cannot be read come first, with their Err.
func List(ctx context.Context, s Storage) (all []Entry, err error) {
	objects, err := s.List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		if !IsBackup(o.Name) {
			continue
		}
		e := Entry{Name: o.Name, Path: s.Path(o.Name), Size: o.Size}
		if e.Description, e.Err = describe(ctx, s, o.Name); errors.Is(e.Err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Description.ClusterID, b.Description.ClusterID),
			cmp.Compare(a.Description.Index, b.Description.Index), a.Description.Created.Compare(b.Description.Created))
	})
	return all, nil
}

func describe(ctx context.Context, s Storage, name string) (d Description, err error) {
	r, err := Open(ctx, s, name)
	if err != nil {
		return d, err
	}
	return r.Description, r.Close()
}

// VerifyIn verifies a backup in a storage.
func VerifyIn(ctx context.Context, s Storage, name string) (Description, Summary, error) {
	r, err := Open(ctx, s, name)
	if err != nil {
		return Description{}, Summary{}, err
	}
	defer r.Close()
	return r.Verify()
}
