package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/layout"
)

// A finder finds the last key ≤ another in a transaction that has emptied pages.
func TestSeekLastAmongEmptiedPages(t *testing.T) {
	db, _, err := openBolt(OSDisk{}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all []string
	for i := range 2000 {
		all = append(all, string(layout.BlockKey(1, uint64(2*i))))
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		for _, k := range all {
			if err := tx.Bucket(layout.BucketBlocks).Put([]byte(k),
				layout.EncodeRef([]byte(k), blockfile.Ref{File: 1, Length: 100})); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, gone := range [][2]int{{0, 2000}, {0, 1000}, {1000, 2000}, {500, 1500}, {0, 1999}, {1, 2000}} {
		tx, err := db.Begin(true)
		if err != nil {
			t.Fatal(err)
		}
		b := tx.Bucket(layout.BucketBlocks)
		f := newFinder(b)
		if _, _, _, err := f.lastUpTo(layout.BlockKey(2, 0)); err != nil {
			t.Fatal(err)
		}
		left := slices.Delete(slices.Clone(all), gone[0], gone[1])
		for _, k := range all[gone[0]:gone[1]] {
			f.removed([]byte(k))
			if err := b.Delete([]byte(k)); err != nil {
				t.Fatal(err)
			}
		}
		for range 200 {
			key := string(layout.BlockKey(1, rand.Uint64N(4002)))
			want := ""
			if i, found := slices.BinarySearch(left, key); found {
				want = left[i]
			} else if i > 0 {
				want = left[i-1]
			}
			if _, got, _, err := f.lastUpTo([]byte(key)); string(got) != want || err != nil {
				t.Fatalf("without %v: the last key up to %x is %x, want %x, %v", gone, key, got, want, err)
			}
			if got := f.get([]byte(key)); (got != nil) != (want == key) {
				t.Fatalf("without %v: under %x there is %q", gone, key, got)
			}
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}
