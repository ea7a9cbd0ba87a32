// Package waltest holds a suite that every store of numbered records can be held to: this module's log, and any other
// that is to replace it. The suite asks for less than package wal promises, so that an adapter of a few lines
// suffices.
package waltest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// Entry is a numbered record. Meta and Data come back as they were stored; nil and empty are the same.
type Entry struct {
	Index uint64
	Meta  []byte
	Data  []byte
}

// Store keeps entries with contiguous indexes.
type Store interface {
	// First and Last return the lowest and the highest index, 0 if there is none.
	First() (uint64, error)
	Last() (uint64, error)
	// Get returns an entry, or an error for which Suite.NotFound is true.
	Get(index uint64) (Entry, error)
	// Append stores entries that continue the store, all or none; anywhere in an empty one that was made or emptied.
	Append(entries []Entry) error
	// DeleteRange removes low…high, which reaches at least one end of the store. After the removal of everything the
	// next Append may begin above high.
	DeleteRange(low, high uint64) error
	Close() error
}

// Suite tells how to reach the stores to be tested.
type Suite struct {
	// Open opens the store in a folder, and makes an empty one in an empty folder.
	Open func(dir string) (Store, error)
	// NotFound recognises the error of Get for an index that is not in the store.
	NotFound func(error) bool
	// Seed repeats a run; 0 draws one. It is printed when a test fails.
	Seed uint64
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	for _, test := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Empty", testEmpty},
		{"AppendAndGet", testAppendAndGet},
		{"StartAnywhere", testStartAnywhere},
		{"DeleteOldest", testDeleteOldest},
		{"DeleteNewest", testDeleteNewest},
		{"DeleteAll", testDeleteAll},
		{"ReplaceSuffix", testReplaceSuffix},
		{"Sizes", testSizes},
		{"BytesAreKept", testBytesAreKept},
		{"Random", testRandom},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fixture{T: t, suite: s, dir: t.TempDir()}
			f.open()
			defer func() { f.must(f.store.Close()) }()
			test.run(f)
			f.check()
			f.reopen()
			f.check()
		})
	}
}

// fixture is a store and what should be in it.
type fixture struct {
	*testing.T
	suite Suite
	dir   string
	store Store
	want  []Entry
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) open() {
	f.Helper()
	var err error
	f.store, err = f.suite.Open(f.dir)
	f.must(err)
}

func (f *fixture) reopen() {
	f.Helper()
	f.must(f.store.Close())
	f.open()
}

// entries makes n entries from an index on.
func entries(from uint64, n, size int) []Entry {
	es := make([]Entry, n)
	for i := range es {
		index := from + uint64(i)
		es[i] = Entry{Index: index, Meta: fmt.Appendf(nil, "m%d", index), Data: bytes.Repeat([]byte{byte(index)}, size)}
	}
	return es
}

func (f *fixture) append(es ...Entry) {
	f.Helper()
	f.must(f.store.Append(es))
	f.want = append(f.want, es...)
}

// delete removes a range from the store and from what should be in it.
func (f *fixture) delete(low, high uint64) {
	f.Helper()
	f.must(f.store.DeleteRange(low, high))
	var left []Entry
	for _, e := range f.want {
		if e.Index < low || e.Index > high {
			left = append(left, e)
		}
	}
	f.want = left
}

// check compares the store with what should be in it.
func (f *fixture) check() {
	f.Helper()
	var first, last uint64
	if n := len(f.want); n > 0 {
		first, last = f.want[0].Index, f.want[n-1].Index
	}
	gotFirst, err := f.store.First()
	f.must(err)
	gotLast, err := f.store.Last()
	f.must(err)
	if gotFirst != first || gotLast != last {
		f.Fatalf("the store has %d…%d and should have %d…%d", gotFirst, gotLast, first, last)
	}
	for _, want := range f.want {
		got, err := f.store.Get(want.Index)
		f.must(err)
		if got.Index != want.Index || !bytes.Equal(got.Meta, want.Meta) || !bytes.Equal(got.Data, want.Data) {
			f.Fatalf("entry %d is %.40q %.40q, and should be %.40q %.40q", want.Index, got.Meta, got.Data,
				want.Meta, want.Data)
		}
	}
	for _, outside := range []uint64{first - 1, last + 1} {
		if outside == 0 || outside == ^uint64(0) {
			continue
		}
		if e, err := f.store.Get(outside); err == nil || !f.suite.NotFound(err) {
			f.Fatalf("entry %d, which is not in the store: %v, %v", outside, e, err)
		}
	}
}

func testEmpty(f *fixture) {
	f.check()
	f.reopen()
}

func testAppendAndGet(f *fixture) {
	f.append(entries(1, 1, 10)...)
	f.append(entries(2, 5, 100)...)
	f.check()
	f.reopen()
	f.check()
	f.append(entries(7, 2, 1)...)
}

func testStartAnywhere(f *fixture) { f.append(entries(1_000_000_007, 3, 10)...) }

func testDeleteOldest(f *fixture) {
	f.append(entries(1, 10, 10)...)
	f.delete(1, 4)
	f.check()
	f.delete(5, 5)
	f.check()
	f.reopen()
	f.check()
	f.append(entries(11, 1, 10)...)
}

func testDeleteNewest(f *fixture) {
	f.append(entries(1, 10, 10)...)
	f.delete(8, 10)
	f.check()
	f.reopen()
	f.check()
	f.append(entries(8, 1, 20)...)
}

func testDeleteAll(f *fixture) {
	f.append(entries(1, 10, 10)...)
	f.delete(1, 10)
	f.check()
	f.append(entries(500, 2, 10)...) // as after a snapshot was installed
	f.check()
	f.delete(500, 501)
	f.reopen()
	f.check()
	f.append(entries(502, 1, 10)...)
}

func testReplaceSuffix(f *fixture) {
	f.append(entries(1, 10, 300)...)
	for round := range 5 {
		f.delete(6, 10)
		f.reopen()
		f.check()
		for i := range uint64(5) {
			f.append(Entry{Index: 6 + i, Data: bytes.Repeat([]byte{byte(round)}, 300)})
		}
	}
}

func testSizes(f *fixture) {
	next := uint64(1)
	for _, size := range []int{0, 1, 7, 8, 9, 511, 512, 513, 4095, 4096, 4097, 100_000, 5_000_000} {
		f.append(entries(next, 2, size)...)
		next += 2
	}
}

// testBytesAreKept makes sure that what a store returned stays as it was while the store goes on.
func testBytesAreKept(f *fixture) {
	f.append(entries(1, 20, 100)...)
	got := make([]Entry, 20)
	for i := range got {
		var err error
		got[i], err = f.store.Get(uint64(i + 1))
		f.must(err)
	}
	f.delete(1, 20)
	for i := range uint64(20) {
		f.append(entries(21+i, 1, 100)...)
	}
	f.reopen()
	for i, e := range got {
		if want := entries(uint64(i+1), 1, 100)[0]; !bytes.Equal(e.Data, want.Data) || !bytes.Equal(e.Meta, want.Meta) {
			f.Fatalf("entry %d changed after it was returned", i+1)
		}
	}
}

// testRandom makes random calls.
func testRandom(f *fixture) {
	seed := f.suite.Seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	f.Cleanup(func() {
		if f.Failed() {
			f.Logf("seed %d", seed)
		}
	})
	r := rand.New(rand.NewPCG(seed, 0))
	next := uint64(1)
	for range 150 {
		n := uint64(len(f.want))
		switch k := r.IntN(20); {
		case n > 0 && k < 3:
			f.delete(f.want[0].Index, f.want[r.Uint64N(n)].Index)
		case n > 0 && k < 6:
			f.delete(f.want[r.Uint64N(n)].Index, f.want[n-1].Index)
			next = max(next, 1)
		case k < 8:
			f.reopen()
		default:
			if n = uint64(len(f.want)); n > 0 {
				next = f.want[n-1].Index + 1
			} else {
				next += 1 + r.Uint64N(100)
			}
			f.append(entries(next, 1+r.IntN(10), r.IntN(1000))...)
			next += 10
		}
		f.check()
	}
}

// ErrIs returns a NotFound that recognises an error value.
func ErrIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}
