package pagecheck

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/turnlog/turnlog/turn"
)

// What is found in the pages at once is found part by part, too.
func TestScanFindsWhatTheCheckFinds(t *testing.T) {
	r := newRig(t)
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(r.file.Path)
	if err != nil {
		t.Fatal(err)
	}
	root, ok, err := findRoot(bytes.NewReader(whole), 0)
	if !ok || err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	page := func() []byte { return whole[(2+rnd.IntN(int(root.high)-2))*pageBytes:][:pageBytes] }
	damagedFile := File{Path: filepath.Join(t.TempDir(), "damaged.db"), Buckets: r.file.Buckets}
	damaged, rounds := 0, 200
	if testing.Short() {
		rounds = 40
	}
	for i := range rounds {
		b := bytes.Clone(whole)
		whole, b = b, whole // page is of the one that is changed
		switch i % 4 {
		case 0:
			p := page()
			p[rnd.IntN(pageHeader+64*elementHead)] ^= 1 << rnd.IntN(8)
		case 1: // a write that was lost, or went to another place
			copy(page(), page())
		case 2:
			clear(page()[:sector])
		case 3:
			list := whole[root.freelist*root.pageSize:][:root.pageSize]
			n := int(native.Uint16(list[10:]))
			list[pageHeader+rnd.IntN(8*n)] ^= 1 << rnd.IntN(8)
		}
		if err := os.WriteFile(damagedFile.Path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		whole = b
		others, at := damagedFile.Check()
		sound := at == nil && len(others) == 0 // else a bucket has lost its name
		if !sound {
			damaged++
		}
		if err := scanOf(damagedFile).Run(); (err == nil) != sound {
			t.Errorf("round %d: at once %v, others %q; part by part %v", i, at, others, err)
		}
	}
	if damaged < rounds/3 {
		t.Errorf("%d of %d files were found damaged", damaged, rounds)
	}
}

// A file without a sound root has no transaction that could be gone from it: a scan does not
// wait for one.
func TestScanFindsDamagedRoots(t *testing.T) {
	r := newRig(t)
	if err := r.db.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.file.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteAt(make([]byte, 2*pageBytes), 0); err != nil {
		t.Fatal(err)
	}
	s, begun := scanOf(r.file), 0
	begin := s.begin
	s.begin = func() (Transaction, error) {
		if begun++; begun > 1 {
			return Transaction{}, errors.New("another transaction for the same part")
		}
		return begin()
	}
	if err := s.Run(); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("the scan ended with %v", err)
	}
}

// Pages are written again while the scan is running, at other places: none is taken for
// damaged, nor for lost because it was in no part. Each is found on the tree, wherever it is
// there, or is free.
func TestScanBesideFlushes(t *testing.T) {
	r := newRig(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for range 3 {
		s := r.scan(func(uint64) error {
			r.change(rnd)
			return nil
		})
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		clear(s.seen)
		s.seen[0], s.seen[1] = true, true // the roots are no part of the tree
		s.bytes = 100 * pageBytes
		parts := 0
		for done := false; !done; parts++ {
			if err := s.asOfNow(func(c *check) (err error) {
				done, err = s.unseen(c)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			r.change(rnd)
		}
		if parts < 2 {
			t.Errorf("%d pages were looked for in %d parts", len(s.seen), parts)
		}
	}
}

// A page that is lost, and looks sound, is found.
func TestScanFindsALostPage(t *testing.T) {
	r := newRig(t)
	s := r.scan(func(uint64) error { return nil })
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(r.file.Path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	root, _, err := findRoot(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The list of free pages has one less: that is the last.
	b := make([]byte, 2)
	at := int64(root.freelist*root.pageSize) + 10
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	native.PutUint16(b, native.Uint16(b)-1)
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
	if err := r.scan(func(uint64) error { return nil }).Run(); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("the scan ended with %v", err)
	}
}

// However long a scrub takes, the pages that flushes free in that time are used again.
func TestScanKeepsNoPagesFromReuse(t *testing.T) {
	r := newRig(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	high := func() int {
		f, err := os.Open(r.file.Path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		root, _, err := findRoot(f, 0)
		if err != nil {
			t.Fatal(err)
		}
		return int(root.high)
	}
	for range 60 {
		r.change(rnd)
	}
	before, flushes := high(), 0
	s := r.scan(func(uint64) error {
		for range 2 {
			flushes++
			r.change(rnd)
		}
		return nil
	})
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	grown := high() - before
	// So much more does a transaction that lasts as long take.
	tx, err := r.begin()
	if err != nil {
		t.Fatal(err)
	}
	before = high()
	for range flushes {
		r.change(rnd)
	}
	tx.End()
	pinned := high() - before
	t.Logf("beside %d flushes the file grew by %d pages, with one transaction by %d", flushes, grown, pinned)
	if flushes < 20 || grown > pinned/3 {
		t.Error("the scan kept pages from reuse")
	}
}
