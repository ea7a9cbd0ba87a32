package fsm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// Pages of the store that were read count as resident until they are released;
// afterwards everything is still there.
func TestReleaseMapped(t *testing.T) {
	r := newRig(t)
	const n, size = 200, 256 << 10
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	for i := range n {
		r.apply(1, &turn.SetString{Key: key(i), Value: make([]byte, size)})
	}
	r.flush()
	read := func() int {
		for i := range n {
			if got := r.query(&turn.GetString{Key: key(i)}); len(got.Value) != size {
				t.Fatalf("value %d is gone", i)
			}
		}
		pages, err := residentPages()
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	before := read()
	path, err := filepath.EvalSymlinks(filepath.Join(r.dir, storeName))
	if err != nil {
		t.Fatal(err)
	}
	// A transaction that is open at that time must not notice.
	err = r.m.db.View(func(tx *bbolt.Tx) error {
		k, v := tx.Bucket(layout.BucketElements).Cursor().First()
		if err := releaseMapped(path); err != nil {
			return err
		}
		_, err := layout.OpenElement(k, v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := residentPages()
	if err != nil {
		t.Fatal(err)
	}
	if data := n * size / os.Getpagesize(); before-after < data*9/10 {
		t.Fatalf("%d pages were resident, %d are after the release; the store has %d", before, after, data)
	}
	read()
}
