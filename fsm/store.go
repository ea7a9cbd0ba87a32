package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/pagecheck"
	"github.com/turnlog/turnlog/internal/descriptors"
	"github.com/turnlog/turnlog/turn"
)

// The store is a bbolt file. LAYOUT.md describes its buckets.
const storeName = "state.db"

var (
	bucketMeta       = []byte("meta")       // "state" → meta, "tags" → tag windows
	bucketHeads      = []byte("heads")      // joined key → head
	bucketBlocks     = []byte("blocks")     // incarnation, seq → block
	bucketDue        = []byte("due")        // dueKey → nothing
	bucketTombstones = []byte("tombstones") // tombstoneKey → last, deadline
	bucketGarbage    = []byte("garbage")    // deadline, incarnation → what to remove then
	bucketNamespaces = []byte("namespaces") // namespace → keys that Redis sees, revision
	bucketElements   = []byte("elements")   // elementKey → sealed value
	// Not in dumps:
	bucketFiles = []byte("files") // number of a block file → its use
	bucketSums  = []byte("sums")  // "files" → seal of all pairs of bucketFiles

	keyState = []byte("state")
	keyTags  = []byte("tags")
	keyFiles = []byte("files")
)

// buckets lists all of them, in the order of a dump. Their place in it is their
// number in the dump format; it grows at its end only.
func buckets() [][]byte {
	return [][]byte{bucketMeta, bucketHeads, bucketBlocks, bucketDue, bucketTombstones, bucketGarbage, bucketNamespaces,
		bucketElements}
}

// mapSize is the address space that the store's file is mapped into at once.
// bbolt must stop all readers to map a file again when it outgrows its map; that
// would let a long dump hold up a flush.
const mapSize = 64 << 30

// openFileOf opens the file of a store to be read beside it.
func openFileOf(db *bbolt.DB) (*os.File, error) {
	return descriptors.Open(func() (*os.File, error) { return os.Open(db.Path()) })
}

func openStore(disk disk, dir string) (*bbolt.DB, error) {
	path := filepath.Join(dir, storeName)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := createStore(disk, path); err != nil {
			return nil, fmt.Errorf("create %s: %w", path, err)
		}
	}
	if err := storeFile(path).Check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := disk.openDB(path, &bbolt.Options{
		Timeout:         time.Second,
		InitialMmapSize: mapSize,
		FreelistType:    bbolt.FreelistMapType,
	})
	if errors.Is(err, os.ErrDeadlineExceeded) || (err != nil && err.Error() == "timeout") {
		return nil, fmt.Errorf("%s is in use by another process", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	if err := prepareStore(db); err != nil {
		_ = db.Close()
		return nil, fmt.Errorf("prepare %s: %w", path, err)
	}
	return db, nil
}

// storeFile returns the store at path, for a check of its pages.
func storeFile(path string) pagecheck.File {
	return pagecheck.File{Path: path, Buckets: append(buckets(), bucketFiles, bucketSums)}
}

// prepareStore creates the buckets that are missing. It does not write if none is:
// a node must come up on a full disk.
func prepareStore(db *bbolt.DB) error {
	missing := false
	_ = db.View(func(tx *bbolt.Tx) error {
		for _, name := range append(buckets(), bucketFiles, bucketSums) {
			missing = missing || tx.Bucket(name) == nil
		}
		return nil
	})
	if !missing {
		return nil
	}
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range append(buckets(), bucketFiles, bucketSums) {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// createStore makes an empty store. It gets its name when it is whole, and durably:
// a crash leaves no half of one, and never takes one away that was in use.
func createStore(disk disk, path string) error {
	dir := filepath.Dir(path)
	building := filepath.Join(dir, restoreName)
	db, err := disk.openDB(building, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
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
func loadMeta(tx *bbolt.Tx) (meta, tags, error) {
	b := tx.Bucket(bucketMeta)
	state := b.Get(keyState)
	if state == nil {
		if k, _ := b.Cursor().First(); k != nil {
			return meta{}, nil, turn.Errorf(turn.Corrupt, "the state description is missing")
		}
		return meta{}, make(tags), nil
	}
	state, err := dumped(bucketMeta, keyState, state)
	if err != nil {
		return meta{}, nil, err
	}
	m, err := decodeMeta(state)
	if err != nil {
		return meta{}, nil, err
	}
	windows, err := dumped(bucketMeta, keyTags, b.Get(keyTags))
	if err != nil {
		return meta{}, nil, err
	}
	t, err := decodeTags(windows)
	return m, t, err
}

func loadNamespaces(tx *bbolt.Tx) (map[string]*namespace, error) {
	all := make(map[string]*namespace)
	err := tx.Bucket(bucketNamespaces).ForEach(func(k, v []byte) error {
		v, err := dumped(bucketNamespaces, k, v)
		if err != nil {
			return err
		}
		all[string(k)], err = decodeNamespace(v)
		return err
	})
	return all, err
}

func decodeTombstone(k, stored []byte) (tombstone, error) {
	v, err := dumped(bucketTombstones, k, stored)
	if err != nil {
		return tombstone{}, err
	}
	if len(k) < 9 {
		return tombstone{}, turn.Errorf(turn.Corrupt, "stored tombstone has a short key")
	}
	inc, _ := layout.SplitBlockKey(append(append([]byte{}, k[len(k)-8:]...), make([]byte, 8)...))
	r := layout.NewReader(v)
	g := tombstone{inc: inc, last: r.Uint(), deadline: int64(r.Uint())}
	if r.More() {
		g.moves = r.Moves()
	}
	return g, r.End("tombstone")
}

func (g tombstone) encode() []byte {
	b := binary.AppendUvarint(uvarint(g.last), uint64(g.deadline))
	if g.moves.Total > 0 {
		b = g.moves.Append(b)
	}
	return b
}
