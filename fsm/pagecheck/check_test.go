package pagecheck

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/turn"
)

// Pages are looked through while changes go on, and what is sound is never taken for damaged.
func TestSoundPagesAreSound(t *testing.T) {
	r := newRig(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range 30 {
		tx, err := r.begin()
		if err != nil {
			t.Fatal(err)
		}
		for range i % 4 {
			r.change(rnd)
		}
		gone, err := tx.File.asOf(tx.ID, (*check).all)
		if err != nil || gone && i%4 == 0 {
			t.Errorf("after %d changes: gone %v, %v", i%4, gone, err)
		}
		tx.End()
	}
	if others, err := r.file.Check(); err != nil || len(others) > 0 {
		t.Errorf("others %q, %v", others, err)
	}
}

// Whole buckets that the file may not have are named before it is opened: its owner knows what
// they mean. They are damage where their pages are damaged, and in a file that is in use.
func TestOtherBuckets(t *testing.T) {
	r := newRig(t)
	if err := r.db.Update(func(tx *bbolt.Tx) error {
		_, failed := tx.CreateBucket([]byte("empty"))
		b, err := tx.CreateBucket([]byte("other"))
		for i := 0; i < 100 && err == nil; i++ {
			err = b.Put(fmt.Appendf(nil, "%04d", i), make([]byte, 1000))
		}
		return errors.Join(failed, err)
	}); err != nil {
		t.Fatal(err)
	}
	if others, err := r.file.Check(); err != nil || !slices.Equal(others, []string{"empty", "other"}) {
		t.Errorf("others %q, %v", others, err)
	}
	if err := r.scan(func(uint64) error { return nil }).Run(); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("the scan ended with %v", err)
	}
	_, place, _ := r.keyOf(r.rootOf("other"), 1)
	r.flip(place, 0)
	if _, err := r.file.Check(); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("damaged: %v", err)
	}
}

// A file of a million pairs is read whole at each start of a node.
func BenchmarkCheck(b *testing.B) {
	f := File{Path: filepath.Join(b.TempDir(), "pairs.db"), Buckets: [][]byte{[]byte("pairs")}}
	db, err := bbolt.Open(f.Path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	for batch := range 10 {
		if err := db.Update(func(tx *bbolt.Tx) error {
			pairs, err := tx.CreateBucketIfNotExists(f.Buckets[0])
			for i := 0; i < 100_000 && err == nil; i++ {
				err = pairs.Put(fmt.Appendf(nil, "0\x00session-%07d-%02d", i, batch), make([]byte, 65))
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		if _, err := f.Check(); err != nil {
			b.Fatal(err)
		}
	}
}

// failingFile fails to read from a place on.
type failingFile struct {
	*os.File
	from int64
}

func (f failingFile) ReadAt(b []byte, at int64) (int, error) {
	if at >= f.from {
		return 0, &os.PathError{Op: "read", Path: f.Name(), Err: syscall.EIO}
	}
	return f.File.ReadAt(b, at)
}

// A page that cannot be read is not for that damaged: the error says what failed, and a caller
// may try again.
func TestReadErrorsAreNoDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, from := range []int64{0, int64(os.Getpagesize()), 2 * int64(os.Getpagesize())} {
		file := File{Path: path}
		_, err := file.lookThrough(failingFile{f, from}, 0, (*check).all)
		if d := damage(""); !errors.Is(err, syscall.EIO) || errors.As(err, &d) {
			t.Errorf("from %d on: %v", from, err)
		}
	}
}
