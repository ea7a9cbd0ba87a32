package pagecheck

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"
)

const (
	sector    = 512
	pageBytes = 4096
)

// rig has a bbolt file of some hundred pages, with branches, long pairs and free pages.
type rig struct {
	t    testing.TB
	db   *bbolt.DB
	file File
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{t: t, file: File{
		Path:    filepath.Join(t.TempDir(), "pairs.db"),
		Buckets: [][]byte{[]byte("long"), []byte("short")},
	}}
	var err error
	r.db, err = bbolt.Open(r.file.Path, 0o600, &bbolt.Options{
		NoSync: true, PageSize: pageBytes, FreelistType: bbolt.FreelistMapType,
		// To map a file again as it grows, bbolt waits for open read transactions.
		InitialMmapSize: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.db.Close() })
	for round := range 3 {
		r.update(func(short, long *bbolt.Bucket) {
			for i := range 2000 {
				r.put(short, i, 100+round)
				if i%400 == 0 {
					r.put(long, i, 20_000+i)
				}
			}
		})
	}
	return r
}

func (r *rig) update(fn func(short, long *bbolt.Bucket)) {
	r.t.Helper()
	if err := r.db.Update(func(tx *bbolt.Tx) error {
		long, err := tx.CreateBucketIfNotExists([]byte("long"))
		if err != nil {
			return err
		}
		short, err := tx.CreateBucketIfNotExists([]byte("short"))
		if err == nil {
			fn(short, long)
		}
		return err
	}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) put(b *bbolt.Bucket, key, size int) {
	r.t.Helper()
	if err := b.Put(fmt.Appendf(nil, "key%06d", key), make([]byte, size)); err != nil {
		r.t.Fatal(err)
	}
}

// change writes some of the pairs, the longer ones too, in one transaction.
func (r *rig) change(rnd *rand.Rand) {
	r.t.Helper()
	r.update(func(short, long *bbolt.Bucket) {
		for range 20 {
			r.put(short, rnd.IntN(2000), 50+rnd.IntN(100))
		}
		for range 5 {
			r.put(long, 400*rnd.IntN(5), rnd.IntN(40_000))
		}
	})
}

// begin begins a transaction of the file in use.
func (r *rig) begin() (Transaction, error) {
	tx, err := r.db.Begin(false)
	if err != nil {
		return Transaction{}, err
	}
	return Transaction{File: r.file, ID: uint64(tx.ID()), End: func() { _ = tx.Rollback() }}, nil
}

// scan returns a scan of the file in use, of one page a part.
func (r *rig) scan(rest func(uint64) error) *Scan {
	s := NewScan(r.begin, rest)
	s.bytes = 0
	return s
}

// scanOf returns a scan of a file that is not in use, of one page a part.
func scanOf(f File) *Scan {
	s := NewScan(func() (Transaction, error) { return Transaction{File: f, End: func() {}}, nil },
		func(uint64) error { return nil })
	s.bytes = 0
	return s
}

// pageOf returns a page of the file.
func (r *rig) pageOf(id uint64) []byte {
	r.t.Helper()
	file, err := os.ReadFile(r.file.Path)
	if err != nil {
		r.t.Fatal(err)
	}
	return file[id*pageBytes:][:pageBytes]
}

// rootOf returns the page of a bucket's root.
func (r *rig) rootOf(bucket string) (id uint64) {
	r.t.Helper()
	if err := r.db.View(func(tx *bbolt.Tx) error {
		id = uint64(tx.Bucket([]byte(bucket)).RootPage())
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
	return id
}

// keyOf returns a key of a page, where it is in the file, and the page below it.
func (r *rig) keyOf(id uint64, n int) (key []byte, place int64, child uint64) {
	r.t.Helper()
	all, _, err := elements(r.pageOf(id), id, keyRange{})
	if err != nil || n >= len(all) {
		r.t.Fatalf("page %d has %d elements: %v", id, len(all), err)
	}
	at := uint64(pageHeader + n*elementHead)
	page := r.pageOf(id)
	_, pos, _, _ := parseElement(page[at:], native.Uint16(page[8:]) == leafPage)
	return all[n].key, int64(id*pageBytes + at + pos), all[n].child
}

// flip flips a bit of the file.
func (r *rig) flip(place int64, bit int) {
	r.t.Helper()
	f, err := os.OpenFile(r.file.Path, os.O_RDWR, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	place += int64(bit / 8)
	if _, err := f.ReadAt(b, place); err != nil {
		r.t.Fatal(err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := f.WriteAt(b, place); err != nil {
		r.t.Fatal(err)
	}
}
