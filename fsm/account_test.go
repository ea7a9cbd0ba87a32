package fsm

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A store whose account of the block files is damaged is not opened: files would be cut,
// or removed.
func TestFlippedBitInTheAccountOfFiles(t *testing.T) {
	r := fullRig(t)
	k, v := r.pair(layout.BucketFiles, 0)
	sum, seal := r.pair(layout.BucketSums, 0)
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
	db, err := bbolt.Open(filepath.Join(r.dir, "state.db"), 0o600, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(db.Update(func(tx *bbolt.Tx) error {
		for bucket, p := range map[string][2][]byte{
			string(layout.BucketFiles): {k, v}, string(layout.BucketSums): {sum, seal},
		} {
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
