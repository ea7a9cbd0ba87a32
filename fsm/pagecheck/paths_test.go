package pagecheck

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/turn"
)

// verifying has fn change a bucket, and verifies each path before it is changed.
func (r *rig) verifying(bucket string,
	fn func(verify func(key []byte, neighbours bool) error, b *bbolt.Bucket) error) error {
	r.t.Helper()
	file, err := os.Open(r.file.Path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer file.Close()
	tx, err := r.db.Begin(true)
	if err != nil {
		r.t.Fatal(err)
	}
	tree, err := r.file.Tree(file, uint64(tx.ID())-1)
	if err == nil {
		var paths *Paths
		if paths, err = tree.Paths([]byte(bucket), func(_, _ []byte) error { return nil }); err == nil {
			err = fn(paths.Verify, tx.Bucket([]byte(bucket)))
		}
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	if err := tx.Commit(); err != nil {
		r.t.Fatal(err)
	}
	return nil
}

// However pairs are put and deleted, few or many at a time, from all of a bucket to none: the
// pages are sound before the next change, and after the last.
func TestSoundPathsAreSound(t *testing.T) {
	r := newRig(t)
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range 400 {
		bucket := []string{"short", "long"}[round%2]
		from, deletes := rnd.IntN(2000), rnd.IntN(3) > 0
		to := min(2000, from+1<<rnd.IntN(12))
		step := 1 + rnd.IntN(1+(to-from)/3)
		if err := r.verifying(bucket, func(verify func([]byte, bool) error, b *bbolt.Bucket) error {
			for i := from; i < to; i += step {
				key := fmt.Appendf(nil, "key%06d", i)
				if err := verify(key, deletes); err != nil {
					return err
				}
				if deletes {
					if err := b.Delete(key); err != nil {
						return err
					}
				} else if err := b.Put(key, make([]byte, rnd.IntN(200)*(1+30*rnd.IntN(2)))); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	if others, err := r.file.Check(); err != nil || len(others) > 0 {
		t.Errorf("others %q, %v", others, err)
	}
}

// A damaged page is found before it is changed, before it is merged with one that is, and before a
// key is put where another page has its place.
func TestDamagedPathsAreFound(t *testing.T) {
	r := newRig(t)
	root := r.rootOf("short")
	first, _, _ := r.keyOf(root, 0)
	second, inBranch, leaf := r.keyOf(root, 1)
	third, _, _ := r.keyOf(root, 2)
	_, onLeaf, _ := r.keyOf(leaf, 0)
	header := int64(leaf * pageBytes)
	for what, place := range map[string]int64{
		"the first key of a leaf": onLeaf, "its copy": inBranch,
		"the page's head": header + 8, "an element's head": header + pageHeader + 3*elementHead,
	} {
		for bit := range 8 * len(second) {
			for _, test := range []struct {
				key        []byte
				neighbours bool
			}{{second, false}, {append(bytes.Clone(second), 0), false}, {second, true}, {first, true}, {third, true}} {
				r.flip(place, bit)
				err := r.verifying("short", func(verify func([]byte, bool) error, _ *bbolt.Bucket) error {
					return verify(test.key, test.neighbours)
				})
				r.flip(place, bit)
				if turn.KindOf(err) != turn.Corrupt {
					t.Errorf("bit %d of %s, %q, neighbours: %v: %v", bit, what, test.key, test.neighbours, err)
				}
			}
		}
	}
}
