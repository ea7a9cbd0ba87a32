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

	"github.com/turnlog/turnlog/turn"
)

// pagesRig has a store of some hundred pages, with branches, long pairs and free pages.
func pagesRig(t testing.TB) *rig {
	r := newRig(t)
	for round := range 3 {
		for i := range 500 {
			k := turn.Key{Namespace: "0", Name: fmt.Sprint("session", i)}
			r.apply(int64(round), appendOf(k, fmt.Sprint(round), "hello"), &turn.Expire{Key: k, HasTTL: true, TTL: int64(1e6 + i)})
			if i%100 == 0 {
				r.apply(1, &turn.SetString{Key: turn.Key{Namespace: "1", Name: fmt.Sprint(i)}, Value: make([]byte, 20_000+i)})
			}
		}
		r.flush()
	}
	return r
}

// Whatever bit of the state file is flipped, wherever it is cut, whichever pages change
// places: it is found before or after the file is opened, or changes nothing.
func TestDamagedPagesAreFound(t *testing.T) {
	r := pagesRig(t)
	want := storeHash(t, r.m)
	if err := r.m.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(filepath.Join(r.dir, storeName))
	if err != nil {
		t.Fatal(err)
	}
	meta, ok, err := findMeta(bytes.NewReader(whole), 0)
	if !ok || err != nil {
		t.Fatal(err)
	}
	whole = whole[:meta.high*meta.pageSize] // bbolt makes files larger than what it uses
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
		at, bit := page()*pageBytes+rnd.IntN(pageHeader+64*elementHead), rnd.IntN(8)
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
	if err := os.WriteFile(filepath.Join(r.dir, storeName), file, 0o600); err != nil {
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
	m, err = Open(Config{Dir: r.dir, FlushBytes: 1 << 30, Logger: slog.New(slog.DiscardHandler), blockFileBytes: 16 << 10})
	if IsDamage(err) || turn.Is(err, turn.Newer) {
		return "start", nil
	}
	if err != nil {
		return "", err
	}
	for _, bucket := range buckets() {
		for from := []byte{}; from != nil; {
			if from, _, err = m.scrubFrom(bucket, from); err != nil {
				return "scrub", nil
			}
		}
	}
	if got := storeHash(r.t, m); got != want {
		return "", errors.New("another state, and nothing says so")
	}
	return "harmless", nil
}

// Pages are looked through while flushes go on, and what is sound is never taken for damaged.
func TestSoundPagesAreSound(t *testing.T) {
	r := pagesRig(t)
	path := filepath.Join(r.dir, storeName)
	for i := range 30 {
		tx, err := r.m.db.Begin(false)
		if err != nil {
			t.Fatal(err)
		}
		for range i % 4 {
			r.apply(9, &turn.Delete{Keys: []turn.Key{{Namespace: "0", Name: fmt.Sprint("session", i)}}},
				appendOf(sessionA, fmt.Sprint(i, len(r.log)), "more"))
			r.flush()
		}
		gone, err := checkAsOf(path, uint64(tx.ID()), (*storeCheck).all)
		if err != nil || gone && i%4 == 0 {
			t.Errorf("after %d flushes: gone %v, %v", i%4, gone, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkPages(path); err != nil {
		t.Error(err)
	}
}

// Looking through a store of a million pairs takes its time at each start.
func BenchmarkCheckPages(b *testing.B) {
	path := filepath.Join(b.TempDir(), "s.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	for batch := range 10 {
		if err := db.Update(func(tx *bbolt.Tx) error {
			heads, err := tx.CreateBucketIfNotExists(bucketHeads)
			for i := 0; i < 100_000 && err == nil; i++ {
				k := fmt.Appendf(nil, "0\x00session-%07d-%02d", i, batch)
				err = heads.Put(k, seal(sealedVersion, k, make([]byte, 60)))
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	info, _ := os.Stat(path)
	b.SetBytes(info.Size())
	for b.Loop() {
		if err := checkPages(path); err != nil {
			b.Fatal(err)
		}
	}
}
