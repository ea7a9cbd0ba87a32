package memtable

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tidwall/btree"
	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
)

var mergedBucket = []byte("pairs")

// mergeSources are memtables, newest first, and what the store holds.
type mergeSources struct {
	memory []map[string]string
	stored map[string]string
}

// shown is a key as an iterator shows it: of which source, with which value.
type shown struct {
	key, value string
	source     int
}

// randomSources has keys of few letters, so that sources share many of them.
func randomSources(rng *rand.Rand) mergeSources {
	fill := func() map[string]string {
		all := make(map[string]string)
		for range rng.IntN(12) {
			all[randomKey(rng)] = fmt.Sprint(rng.IntN(100))
		}
		return all
	}
	s := mergeSources{stored: fill()}
	for range rng.IntN(4) {
		s.memory = append(s.memory, fill())
	}
	return s
}

func randomKey(rng *rand.Rand) string {
	key := make([]byte, 1+rng.IntN(3))
	for i := range key {
		key[i] = []byte{0, 'a', 'b', 0xff}[rng.IntN(4)]
	}
	return string(key)
}

// merged is the plain form of the merge: all keys, sorted, each as its newest source has it.
func (s *mergeSources) merged() []shown {
	newest := make(map[string]shown)
	for k, v := range s.stored {
		newest[k] = shown{k, v, inStore}
	}
	for i, m := range slices.Backward(s.memory) {
		for k, v := range m {
			newest[k] = shown{k, v, i}
		}
	}
	all := make([]shown, 0, len(newest))
	for _, x := range newest {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b shown) int { return cmp.Compare(a.key, b.key) })
	return all
}

// iter returns an iterator over the sources, without the store if tx is nil.
func (s *mergeSources) iter(tx *store.Reading) *mergeIter[string] {
	it := new(mergeIter[string])
	if tx != nil {
		it.readStore(tx, mergedBucket)
	}
	for _, m := range s.memory {
		var tree btree.Map[string, string]
		for k, v := range m {
			tree.Set(k, v)
		}
		it.addMemory(&tree)
	}
	return it
}

func showsAt(t *testing.T, it *mergeIter[string]) shown {
	t.Helper()
	x := shown{key: it.Key, source: it.source}
	if v, ok := it.changed(); ok {
		x.value = v
		return x
	}
	k, v := it.stored()
	if string(k) != it.Key {
		t.Fatalf("the iterator is at %q, and its stored pair is that of %q", it.Key, k)
	}
	v, err := layout.Dumped(mergedBucket, k, v)
	if err != nil {
		t.Fatal(err)
	}
	x.value = string(v)
	return x
}

// withBucket calls fn with a transaction in which mergedBucket holds pairs, sealed.
func withBucket(t *testing.T, db *bbolt.DB, pairs map[string]string, fn func(*store.Reading)) {
	t.Helper()
	name := mergedBucket
	if err := db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(name) != nil {
			if err := tx.DeleteBucket(name); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucket(name)
		for k, v := range pairs {
			if err == nil {
				err = b.Put([]byte(k), layout.Seal([]byte(k), []byte(v)))
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.View(func(tx *bbolt.Tx) error {
		fn(&store.Reading{Tx: tx})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Whatever the memtables and the store hold, an iterator shows what sorting all of it shows,
// in both directions, within bounds, and after it was sent elsewhere in the middle.
func TestMergeIterShowsWhatSortingShows(t *testing.T) {
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := randomSources(rng)
		withBucket(t, db, s.stored, func(tx *store.Reading) {
			if rng.IntN(8) == 0 {
				s.stored, tx = nil, nil
			}
			for range 8 {
				s.checkWalk(t, seed, rng, tx)
			}
		})
	}
}

// checkWalk holds one walk, with random bounds, beginnings and jumps, against the plain merge.
func (s *mergeSources) checkWalk(t *testing.T, seed uint64, rng *rand.Rand, tx *store.Reading) {
	t.Helper()
	it := s.iter(tx)
	it.down = rng.IntN(2) == 0
	if rng.IntN(2) == 0 {
		it.low = randomKey(rng)
	}
	if rng.IntN(2) == 0 {
		it.high = randomKey(rng)
	}
	var got, want []shown
	for range 3 { // seeks, of which each may break off the walk before
		at, left := randomKey(rng), rng.IntN(12)
		it.Seek(at)
		for ; left > 0 && it.Next(); left-- {
			got = append(got, showsAt(t, it))
		}
		if left > 0 && it.Next() {
			t.Fatalf("seed %d: after its end the iterator goes on to %q", seed, it.Key)
		}
		want = append(want, s.plainWalk(it.down, it.low, it.high, at, len(got)-len(want), left > 0)...)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("seed %d: of %+v, down %v, within [%q, %q), the iterator shows\n%+v, not\n%+v",
			seed, *s, it.down, it.low, it.high, got, want)
	}
}

// plainWalk returns what a walk from at shows: all if it came to its end, else its first n.
func (s *mergeSources) plainWalk(down bool, low, high, at string, n int, ended bool) (want []shown) {
	for _, x := range s.merged() {
		if x.key >= low && (high == "" || x.key < high) && (x.key < at) == down {
			want = append(want, x)
		}
	}
	if down {
		slices.Reverse(want)
	}
	if !ended {
		want = want[:min(n, len(want))]
	}
	return want
}

// An iterator without sources, or whose bounds hold nothing, ends at once and stays there.
func TestMergeIterWithNothingToShow(t *testing.T) {
	empty := new(mergeIter[string])
	empty.Seek("")
	s := mergeSources{memory: []map[string]string{{"a": "", "c": ""}}}
	between := s.iter(nil)
	between.low, between.high = "b", "c"
	between.Seek("b")
	for name, it := range map[string]*mergeIter[string]{"no source": empty, "nothing within the bounds": between} {
		for range 2 {
			if it.Next() {
				t.Errorf("%s: the iterator goes to %q", name, it.Key)
			}
		}
	}
}

func TestPrefixEnd(t *testing.T) {
	for prefix, want := range map[string]string{"": "", "a": "b", "a\x00": "a\x01", "a\xff": "b", "\xff\xff": ""} {
		if got := layout.PrefixEnd(prefix); got != want {
			t.Errorf("the keys with the prefix %q end before %q, not %q", prefix, got, want)
		}
	}
}
