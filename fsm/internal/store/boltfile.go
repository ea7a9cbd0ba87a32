package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/tags"
	"github.com/turnlog/turnlog/fsm/pagecheck"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/turn"
)

// The store is a bbolt file. LAYOUT.md describes its buckets.
const storeName = "state.db"

// leastMap is the least address space that the store's file is mapped into at once.
// bbolt must stop all readers to map a file again when it outgrows its map; that
// would let a long dump hold up a flush.
const leastMap = 64 << 30

// mapFor returns the address space for a file of a size, which can grow by as much again at least.
func mapFor(size int64) int64 {
	space := int64(leastMap)
	for space < 2*size {
		space *= 2
	}
	return space
}

// openFileOf opens the file of a store to be read beside it.
func openFileOf(db *bbolt.DB) (*os.File, error) {
	return descriptors.Open(func() (*os.File, error) { return os.Open(db.Path()) })
}

// openBolt opens the bbolt file of a store, creating it if it is not there. It returns into how much space that is
// mapped.
func openBolt(disk Disk, dir string) (*bbolt.DB, int64, error) {
	path := filepath.Join(dir, storeName)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		if err := createStore(disk, path); err != nil {
			return nil, 0, fmt.Errorf("create %s: %w", path, err)
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", path, err)
	}
	space := mapFor(info.Size())
	db, err := openMapped(disk, path, space)
	return db, space, err
}

func openMapped(disk Disk, path string, space int64) (*bbolt.DB, error) {
	others, err := storeFile(path).Check()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := disk.OpenDB(path, &bbolt.Options{
		Timeout:         time.Second,
		InitialMmapSize: int(space),
		FreelistType:    bbolt.FreelistMapType,
	})
	if errors.Is(err, os.ErrDeadlineExceeded) || (err != nil && err.Error() == "timeout") {
		return nil, fmt.Errorf("%s is in use by another process", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := readable(db, others); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if err := prepareStore(db); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("prepare %s: %w", path, err)
	}
	return db, nil
}

// storeFile returns the store at path, for a check of its pages.
func storeFile(path string) pagecheck.File {
	return pagecheck.File{Path: path, Buckets: storeBuckets()}
}

// storeBuckets lists the buckets of a store.
func storeBuckets() [][]byte {
	return append(layout.Buckets(), layout.BucketFiles, layout.BucketSums)
}

// readable returns an error if this version cannot read a store, whose pages are sound: of kind
// turn.Newer if a newer version wrote it. others are buckets that this version does not know. It
// comes before all that changes the store or the files beside it.
func readable(db *bbolt.DB, others []string) error {
	return db.View(func(tx *bbolt.Tx) error {
		if tx.Bucket(layout.BucketMeta) != nil {
			if _, _, err := loadMeta(tx); err != nil {
				return err
			}
		}
		if len(others) == 0 {
			return nil
		}
		for _, name := range storeBuckets() {
			if tx.Bucket(name) == nil { // others[0] is what its name became
				return turn.Errorf(turn.Corrupt, "%s is damaged: it has a bucket %q, and no bucket %s", storeName,
					others[0], name)
			}
		}
		return turn.Errorf(turn.Newer, "%s has a bucket %q, which this turnlog does not know: run the newer turnlog",
			storeName, others[0])
	})
}

// prepareStore creates the buckets that are missing. It does not write if none is:
// a node must come up on a full disk.
func prepareStore(db *bbolt.DB) error {
	missing := false
	_ = db.View(func(tx *bbolt.Tx) error {
		for _, name := range storeBuckets() {
			missing = missing || tx.Bucket(name) == nil
		}
		return nil
	})
	if !missing {
		return nil
	}
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range storeBuckets() {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// createStore makes an empty store. It gets its name when it is whole, and durably:
// a crash leaves no half of one, and never takes one away that was in use.
func createStore(disk Disk, path string) error {
	dir := filepath.Dir(path)
	building := filepath.Join(dir, restoreName)
	if err := removeUnfinished(disk, dir); err != nil {
		return err
	}
	db, err := disk.OpenDB(building, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	if err := errors.Join(prepareStore(db), db.Close()); err != nil {
		return err
	}
	if err := disk.Rename(building, path); err != nil {
		return err
	}
	return disk.SyncDir(dir)
}

// loadMeta returns the state description of the store, zero if it is new.
func loadMeta(tx *bbolt.Tx) (layout.Meta, tags.Set, error) {
	b := tx.Bucket(layout.BucketMeta)
	state := b.Get(layout.KeyState)
	if state == nil {
		if k, _ := b.Cursor().First(); k != nil {
			return layout.Meta{}, nil, turn.Errorf(turn.Corrupt, "the state description is missing")
		}
		return layout.Meta{}, make(tags.Set), nil
	}
	state, err := layout.Dumped(layout.BucketMeta, layout.KeyState, state)
	if err != nil {
		return layout.Meta{}, nil, err
	}
	m, err := layout.DecodeMeta(state)
	if err != nil {
		return layout.Meta{}, nil, err
	}
	windows, err := layout.Dumped(layout.BucketMeta, layout.KeyTags, b.Get(layout.KeyTags))
	if err != nil {
		return layout.Meta{}, nil, err
	}
	t, err := tags.Decode(windows)
	return m, t, err
}

// loadNamespaces returns all namespaces, and floors of revisions.
func loadNamespaces(tx *bbolt.Tx) (map[string]*layout.Namespace, error) {
	all := make(map[string]*layout.Namespace)
	err := tx.Bucket(layout.BucketNamespaces).ForEach(func(k, v []byte) error {
		v, err := layout.Dumped(layout.BucketNamespaces, k, v)
		if err != nil {
			return err
		}
		all[string(k)], err = layout.DecodeNamespace(v)
		return err
	})
	return all, err
}

// removeUnfinished removes what a restore left that a crash ended.
func removeUnfinished(disk Disk, dir string) error {
	err := disk.Remove(filepath.Join(dir, restoreName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove an unfinished restore: %w", err)
	}
	return nil
}
