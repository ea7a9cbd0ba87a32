package fsm

import (
	"fmt"
	"os"
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
		pages, err := mappedPages()
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	before := read()
	// A transaction that is open at that time must not notice.
	err := r.db().View(func(tx *bbolt.Tx) error {
		k, v := tx.Bucket(layout.BucketElements).Cursor().First()
		if err := r.m.store.ReleaseBeyond(0); err != nil {
			return err
		}
		_, err := layout.OpenElement(k, v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := mappedPages()
	if err != nil {
		t.Fatal(err)
	}
	if data := n * size / os.Getpagesize(); before-after < data*9/10 {
		t.Fatalf("%d pages were resident, %d are after the release; the store has %d", before, after, data)
	}
	read()
}

// mappedPages returns how many pages of mapped files are resident.
func mappedPages() (n int, err error) {
	b, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d %d %d", new(int), new(int), &n)
	}
	return n, err
}
