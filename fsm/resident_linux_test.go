package fsm

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/turn"
)

// Pages of the store that were read count as resident until they are released;
// afterwards everything is still there.
func TestReleaseMapped(t *testing.T) {
	r := newRig(t)
	const n, size = 200, 256 << 10
	for range n {
		r.apply(1, &turn.Append{Key: sessionA, Messages: []turn.NewMessage{{Data: make([]byte, size)}}})
	}
	r.flush()
	read := func() int {
		for i := range uint64(n) {
			if got := r.query(&turn.Read{Key: sessionA, From: turn.FromAfter, Seq: i, Limit: 1}); len(got.Messages) != 1 || len(got.Messages[0].Data) != size {
				t.Fatalf("message %d is gone", i+1)
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
	// A transaction that is open meanwhile must not notice.
	err = r.m.db.View(func(tx *bbolt.Tx) error {
		_, v := tx.Bucket(bucketBlocks).Cursor().First()
		if err := releaseMapped(path); err != nil {
			return err
		}
		_, err := decodeBlock(nil, 1, v)
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
