package store

import (
	"fmt"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Members returns the members that the store in dir records, ordered by ID. It changes nothing, and
// the store must not be open.
func Members(dir string) ([]codec.Member, error) {
	path := filepath.Join(dir, storeName)
	others, err := storeFile(path).Check()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	defer db.Close()
	if err := readable(db, others); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	var m layout.Meta
	err = db.View(func(tx *bbolt.Tx) (err error) {
		if tx.Bucket(layout.BucketMeta) == nil {
			return turn.Errorf(turn.Corrupt, "the state description is missing")
		}
		m, _, err = loadMeta(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return m.Members, nil
}
