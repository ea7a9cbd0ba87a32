package fsm

import (
	"bytes"
	"fmt"
	"log/slog"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// sealBatch is how many pairs get their seals in one transaction, which holds them all
// in memory.
const sealBatch = 20_000

// keySealing, in bucketSums, tells how far the indices of an older store have been given
// seals: sealed; 1 byte, the place in indices() of the bucket that is being sealed, and
// its last key that has one. It is there from the transaction in which the store gets
// its version until all are done.
var keySealing = []byte("sealing")

// upgradeStore gives the indices of a store that an older version wrote their seals. If
// it is interrupted, the next call goes on.
func upgradeStore(db *bbolt.DB, log *slog.Logger) error {
	if !unsealedIndices(db) {
		return nil
	}
	log.Info("the indices of the state file get checksums, once; older versions will refuse it")
	began, pairs := time.Now(), 0
	for unsealedIndices(db) {
		if err := db.Update(func(tx *bbolt.Tx) error {
			n, err := sealSome(tx, sealBatch)
			pairs += n
			return err
		}); err != nil {
			return fmt.Errorf("give the indices of %s checksums: %w", db.Path(), err)
		}
	}
	log.Info("the indices of the state file have checksums", "pairs", pairs, "duration", time.Since(began))
	return nil
}

// unsealedIndices reports whether the store is of a version before layout.StateVersion, or is
// being upgraded.
func unsealedIndices(db *bbolt.DB) (yes bool) {
	_ = db.View(func(tx *bbolt.Tx) error {
		state := tx.Bucket(bucketMeta).Get(keyState)
		yes = tx.Bucket(bucketSums).Get(keySealing) != nil || len(state) > 0 &&
			(state[0] == layout.PlainVersion || state[0] == layout.SealVersion)
		return nil
	})
	return yes
}

// sealSome gives up to limit pairs their seals, and returns how many.
func sealSome(tx *bbolt.Tx, limit int) (pairs int, err error) {
	sums := tx.Bucket(bucketSums)
	at := []byte{0}
	if stored := sums.Get(keySealing); stored == nil {
		err = beginSealing(tx)
	} else if at, err = layout.Unseal(layout.SealVersion, keySealing, stored, "state of the upgrade"); err == nil &&
		(len(at) == 0 || int(at[0]) >= len(indices())) {
		err = turn.Errorf(turn.Corrupt, "the state of the upgrade is malformed")
	}
	if err != nil {
		return 0, err
	}
	place, last := int(at[0]), bytes.Clone(at[1:])
	for ; place < len(indices()); place, last = place+1, nil {
		n, upTo, err := sealBucket(tx.Bucket(indices()[place]), last, limit-pairs)
		if pairs += n; err != nil {
			return pairs, err
		}
		if pairs == limit {
			return pairs, putSealed(sums, keySealing, append([]byte{byte(place)}, upTo...))
		}
	}
	return pairs, sums.Delete(keySealing)
}

// beginSealing gives the store its version.
func beginSealing(tx *bbolt.Tx) error {
	meta := tx.Bucket(bucketMeta)
	state, err := layout.UnsealOrPlain(keyState, meta.Get(keyState), "state description")
	if err != nil {
		return err
	}
	if err := sealAccount(tx.Bucket(bucketFiles), tx.Bucket(bucketSums)); err != nil {
		return err
	}
	return meta.Put(keyState, layout.Seal(layout.StateVersion, keyState, state))
}

// sealBucket gives up to limit pairs behind the key last, if that is not empty, their
// seals, and returns the key of the last one.
func sealBucket(b *bbolt.Bucket, last []byte, limit int) (n int, upTo []byte, err error) {
	type pair struct{ k, v []byte }
	var pairs []pair // a bucket must not be changed under a cursor
	c := b.Cursor()
	for k, v := c.Seek(last); k != nil && len(pairs) < limit; k, v = c.Next() {
		if len(last) == 0 || !bytes.Equal(k, last) {
			pairs = append(pairs, pair{bytes.Clone(k), bytes.Clone(v)})
		}
	}
	for _, p := range pairs {
		if err := putSealed(b, p.k, p.v); err != nil {
			return n, upTo, err
		}
		n, upTo = n+1, p.k
	}
	return n, upTo, nil
}
