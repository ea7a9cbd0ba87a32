package backup

import (
	"context"
	"io"
	"time"
)

// Storage keeps backups: a Folder, or a bucket of an object store. Names are relative, and separated by slashes.
// An object that is not there is fs.ErrNotExist. All methods but Close of a Lock end early with their context, and
// may be called concurrently.
type Storage interface {
	// Path returns what people call an object; of the empty name, the storage itself.
	Path(name string) string
	// List returns the objects directly in dir, "" or a relative name, in the order of their names.
	List(ctx context.Context, dir string) ([]Object, error)
	// Read reads an object of that size from an offset to its end.
	Read(ctx context.Context, name string, offset int64) (in io.ReadCloser, size int64, err error)
	// Write has fill write an object of most bytes at most. When Write returns nil, the object is complete and
	// durable; after an error of fill, it is not there. Write never replaces an object: that is fs.ErrExist. A
	// crash may leave something that List does not return, and that Lock removes.
	Write(ctx context.Context, name string, most int64, fill func(io.Writer) error) error
	// Remove removes an object, durably when it returns; none is there afterwards, whether one was or not.
	Remove(ctx context.Context, name string) error
	// Lock makes the caller the only one that writes, and removes what interrupted writes left. If another
	// process writes, that is an error that says so.
	Lock(ctx context.Context) (Lock, error)
}

// Object is an object in a storage.
type Object struct {
	Name     string
	Size     int64
	Modified time.Time // zero: not known
}

// Lock is the right to write to a storage.
type Lock interface {
	// Held is an error unless the right is still the caller's: that to an object store expires if it cannot
	// be renewed. It is called before a change that another writer could not bear.
	Held(ctx context.Context) error
	Close() error
}
