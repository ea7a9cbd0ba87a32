package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// pagesRig has a store of some hundred pages, with branches, long pairs and free pages.
func pagesRig(t testing.TB) *rig {
	r := newRig(t)
	for round := range 3 {
		for i := range 500 {
			k := turn.Key{Namespace: "0", Name: fmt.Sprint("session", i)}
			r.apply(int64(round), appendOf(k, fmt.Sprint(round), "hello"),
				&turn.Expire{Key: k, HasTTL: true, TTL: int64(1e6 + i)})
			if i%100 == 0 {
				r.apply(1, &turn.SetString{Key: turn.Key{Namespace: "1", Name: fmt.Sprint(i)},
					Value: make([]byte, 20_000+i)})
			}
		}
		r.flush()
	}
	return r
}

// usedBytes returns how much of the store's file bbolt uses.
func (r *rig) usedBytes() (n int64) {
	_ = r.db().View(func(tx *bbolt.Tx) error {
		n = tx.Size()
		return nil
	})
	return n
}

// headBytes is where the headers of a page and of most of its elements are.
const headBytes = 16 + 64*16

// Whatever bit of the state file is flipped, wherever it is cut, whichever pages change
// places: it is found before or after the file is opened, or changes nothing.
func TestDamagedPagesAreFound(t *testing.T) {
	r := pagesRig(t)
	want, used := storeHash(t, r.m), r.usedBytes()
	if err := r.m.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(r.dir, "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	whole = whole[:used] // bbolt makes files larger than what it uses
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	page := func() int { return 2 + rnd.IntN(len(whole)/pageBytes-2) }
	found := make(map[string]int)
	try := func(name string, b []byte) {
		t.Helper()
		how, err := r.lookThrough(b, want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found[how]++
	}
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for range rounds {
		b := bytes.Clone(whole)
		at, bit := page()*pageBytes+rnd.IntN(headBytes), rnd.IntN(8)
		b[at] ^= 1 << bit
		try(fmt.Sprintf("bit %d of byte %d, in the head of page %d", bit, at%pageBytes, at/pageBytes), b)
		b = bytes.Clone(whole)
		at, bit = rnd.IntN(len(b)), rnd.IntN(8)
		b[at] ^= 1 << bit
		try(fmt.Sprintf("bit %d of byte %d", bit, at), b)
	}
	for range rounds / 8 {
		n := rnd.IntN(len(whole))
		try(fmt.Sprintf("cut at %d", n), whole[:n])
		b := bytes.Clone(whole)
		x, y := page()*pageBytes, page()*pageBytes
		copy(b[x:x+pageBytes], whole[y:])
		copy(b[y:y+pageBytes], whole[x:])
		try(fmt.Sprintf("pages %d and %d swapped", x/pageBytes, y/pageBytes), b)
		b = bytes.Clone(whole)
		at := rnd.IntN(len(b)/sector) * sector
		clear(b[at:min(at+sector, len(b))])
		try(fmt.Sprintf("sector at %d zeroed", at), b)
	}
	t.Log(found)
	r.dir = t.TempDir()
	r.open()
}

// lookThrough opens the rig's state with another state file, and returns how damage to it
// was found. The error tells of damage that was not.
func (r *rig) lookThrough(file []byte, want string) (how string, err error) {
	if err := os.WriteFile(filepath.Join(r.dir, "state.db"), file, 0o600); err != nil {
		return "", err
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var m *Machine
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the process ends: %v", p) // and Close would wait for readers
		} else if m != nil {
			_ = m.Close()
		}
	}()
	m, err = Open(Config{Dir: r.dir, FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler),
		BlockFileBytes: 16 << 10})
	if IsDamage(err) || turn.Is(err, turn.Newer) {
		return "start", nil
	}
	if err != nil {
		return "", err
	}
	for _, bucket := range layout.Buckets() {
		for from := []byte{}; from != nil; {
			if from, _, err = store.ScrubFrom(m.beginScrub, bucket, from); err != nil {
				return "scrub", nil
			}
		}
	}
	if got := storeHash(r.t, m); got != want {
		return "", errors.New("another state, and nothing says so")
	}
	return "harmless", nil
}

// A scrub finds damage to the pages of a store that is in use, and takes sound ones for sound.
func TestScrubReadsPages(t *testing.T) {
	r := pagesRig(t)
	if err := r.m.store.ScrubPages(t.Context(), r.m.beginScrub); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(r.dir, "state.db"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	// The number of a page comes first on it. bbolt reads the list of free pages when it opens the file only.
	if _, err := f.WriteAt(make([]byte, 8), int64(r.freelist()*pageBytes)); err != nil {
		t.Fatal(err)
	}
	if err := r.m.store.ScrubPages(t.Context(), r.m.beginScrub); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("the scrub ended with %v", err)
	}
}

// freelist returns the page on which the free ones are listed.
func (r *rig) freelist() (id int) {
	r.t.Helper()
	if err := r.db().View(func(tx *bbolt.Tx) error {
		for page, err := tx.Page(id); page != nil || err != nil; page, err = tx.Page(id) {
			if err != nil || page.Type == "freelist" {
				return err
			}
			id += 1 + page.OverflowCount
		}
		return errors.New("there is no list of free pages")
	}); err != nil {
		r.t.Fatal(err)
	}
	return id
}
