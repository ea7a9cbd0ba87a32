package fsm

import (
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// StoredMembers returns the members that the store in dir records, ordered by ID: those of
// the last flush. It changes nothing, and there must be no Machine on dir. Damage to the
// store is an error for which IsDamage holds.
func StoredMembers(dir string) ([]codec.Member, error) {
	path := filepath.Join(dir, storeName)
	if err := storeFile(path).Check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer db.Close()
	var m meta
	err = db.View(func(tx *bbolt.Tx) (err error) {
		m, err = storedMeta(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return m.members, nil
}

// storedMeta returns the state description of a store of any version that can be upgraded.
func storedMeta(tx *bbolt.Tx) (meta, error) {
	b := tx.Bucket(bucketMeta)
	if b == nil {
		return meta{}, turn.Errorf(turn.Corrupt, "the state description is missing")
	}
	if state := b.Get(keyState); len(state) > 0 && state[0] != layout.StateVersion { // see upgradeStore
		plain, err := layout.UnsealOrPlain(keyState, state, "state description")
		if err != nil {
			return meta{}, err
		}
		return decodeMeta(plain)
	}
	m, _, err := loadMeta(tx)
	return m, err
}
