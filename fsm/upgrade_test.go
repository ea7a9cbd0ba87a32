package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// unsealAll makes the store one of the first version, but for the blocks, which stay
// where they are.
func (r *rig) unsealAll() {
	r.t.Helper()
	if err := r.m.db.Update(func(tx *bbolt.Tx) error {
		for _, bucket := range buckets() {
			b, plain := tx.Bucket(bucket), make(map[string][]byte)
			if err := b.ForEach(func(k, v []byte) error {
				if string(bucket) != string(bucketElements) {
					plain[string(k)] = bytes.Clone(v[layout.SealSize:])
				}
				return nil
			}); err != nil {
				return err
			}
			for k, v := range plain {
				if err := b.Put([]byte(k), v); err != nil {
					return err
				}
			}
		}
		return tx.DeleteBucket(bucketSums)
	}); err != nil {
		r.t.Fatal(err)
	}
}

// An upgrade that ends after any of its transactions is taken up again where it was.
func TestInterruptedUpgrade(t *testing.T) {
	for cut := range 4 {
		r := newRig(t)
		const sessions, batch = 50, 20
		for i := range sessions {
			o := appendOf(turn.Key{Namespace: "0", Name: fmt.Sprint(i)}, "", "x")
			o.TTL = 60_000
			r.apply(1, o)
		}
		r.flush()
		before := storeHash(t, r.m)
		r.unsealAll()
		if err := prepareStore(r.m.db); err != nil {
			t.Fatal(err)
		}
		for range cut {
			if err := r.m.db.Update(func(tx *bbolt.Tx) error {
				_, err := sealSome(tx, batch)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		if k, _ := r.pair(bucketSums, 1); cut > 0 && (k == nil) != (cut == 3) {
			t.Errorf("after %d transactions, the upgrade is running: %v", cut, k != nil)
		}
		r.log = nil // all is in the store
		r.restart()
		if got := storeHash(t, r.m); got != before {
			t.Errorf("cut after %d: the state is another one", cut)
		}
		if err := r.m.scrub(t.Context()); err != nil {
			t.Error(err)
		}
		if k, _ := r.pair(bucketSums, 1); k != nil {
			t.Errorf("cut after %d: %s is left", cut, k)
		}
	}
}

// A store whose account of the block files is damaged is not opened: files would be cut,
// or removed.
func TestFlippedBitInTheAccountOfFiles(t *testing.T) {
	r := fullRig(t)
	k, v := r.pair(bucketFiles, 0)
	sum, seal := r.pair(bucketSums, 0)
	_ = r.m.Close()
	open := func() error {
		m, err := Open(Config{Dir: r.dir})
		if err == nil {
			_ = m.Close()
		}
		return err
	}
	for at := range len(k) + len(v) + len(seal) {
		for bit := range 8 {
			damaged := bytes.Join([][]byte{k, v, seal}, nil)
			damaged[at] ^= 1 << bit
			key, rest := damaged[:len(k)], damaged[len(k):]
			r.replaceAccount(key, rest[:len(v)], sum, rest[len(v):])
			if err := open(); turn.KindOf(err) != turn.Corrupt && turn.KindOf(err) != turn.Newer {
				t.Errorf("bit %d of byte %d: %v", bit, at, err)
			}
		}
	}
	r.replaceAccount(k, v, []byte("fines"), seal)
	if err := open(); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("the checksum has another name: %v", err)
	}
	r.replaceAccount(k, v, sum, seal)
	if err := open(); err != nil {
		t.Error(err)
	}
	r.open()
}

// replaceAccount puts a pair in the place of the account of the closed store's only
// block file, and another in that of its checksum.
func (r *rig) replaceAccount(k, v, sum, seal []byte) {
	r.t.Helper()
	db, err := openStore(osDisk{}, r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *bbolt.Tx) error {
		for bucket, p := range map[string][2][]byte{string(bucketFiles): {k, v}, string(bucketSums): {sum, seal}} {
			if err := tx.DeleteBucket([]byte(bucket)); err != nil {
				return err
			}
			b, err := tx.CreateBucket([]byte(bucket))
			if err != nil {
				return err
			}
			if err := b.Put(p[0], p[1]); err != nil {
				return err
			}
		}
		return nil
	}), db.Close()); err != nil {
		r.t.Fatal(err)
	}
}
