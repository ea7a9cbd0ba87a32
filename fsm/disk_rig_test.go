package fsm

import (
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// db returns the bbolt file of the store, to be read, or damaged, beside it.
func (r *rig) db() *bbolt.DB {
	r.t.Helper()
	return storeDB(r.t, r.m)
}

func storeDB(t testing.TB, m *Machine) *bbolt.DB {
	t.Helper()
	tx, err := m.store.Read()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	return tx.DB()
}

// transaction returns the number of the store's last transaction.
func (r *rig) transaction() (id int) {
	r.t.Helper()
	if err := r.db().View(func(tx *bbolt.Tx) error {
		id = tx.ID()
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// uses returns, by number of a block file, how many of its bytes count, and how many of those
// are referred to.
func (r *rig) uses() map[uint64][2]int64 {
	r.t.Helper()
	all := make(map[uint64][2]int64)
	if err := r.db().View(func(tx *bbolt.Tx) error {
		return tx.Bucket(layout.BucketFiles).ForEach(func(k, v []byte) error {
			u := layout.NewReader(v)
			all[binary.BigEndian.Uint64(k)] = [2]int64{int64(u.Uint()), int64(u.Uint())}
			return nil
		})
	}); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// newestBlockFile returns the path of the block file that is appended to.
func (r *rig) newestBlockFile() string {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(r.dir, "blocks", "*.blk"))
	if err != nil || len(names) == 0 {
		r.t.Fatalf("block files: %q, %v", names, err)
	}
	return slices.Max(names)
}
