package fsm

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// putBucket puts a bucket with so many pairs into a store, after those that are there, or before.
func putBucket(t *testing.T, tx *bbolt.Tx, name string, pairs int) {
	t.Helper()
	b, err := tx.CreateBucket([]byte(name))
	for i := 0; i < pairs && err == nil; i++ {
		err = b.Put(binary.BigEndian.AppendUint32(nil, uint32(i)), make([]byte, 1000))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// nextVersion has the state description of a store be of the next version.
func nextVersion(t *testing.T, tx *bbolt.Tx) {
	t.Helper()
	b := tx.Bucket(layout.BucketMeta)
	newer := bytes.Clone(b.Get(layout.KeyState))
	newer[0]++
	sum := crc32.Checksum(slices.Concat(layout.KeyState, newer[:1], newer[layout.SealSize:]),
		crc32.MakeTable(crc32.Castagnoli))
	binary.LittleEndian.PutUint32(newer[1:], sum)
	if err := b.Put(layout.KeyState, newer); err != nil {
		t.Fatal(err)
	}
}

// removeBucket removes a bucket of a store.
func removeBucket(t *testing.T, tx *bbolt.Tx, name []byte) {
	t.Helper()
	if err := tx.DeleteBucket(name); err != nil {
		t.Fatal(err)
	}
}

// filesOf returns the content of all files in a folder and those below.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// changed returns a closed state whose state file was changed, with what a newer version may have
// put beside it.
func changed(t *testing.T, change func(t *testing.T, tx *bbolt.Tx)) (dir string) {
	t.Helper()
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	r.flush()
	if err := r.db().Update(func(tx *bbolt.Tx) error {
		change(t, tx)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"blocks/0000000000000099.blk", "state.db.restore"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte("of use to a newer version"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.m.Close(); err != nil {
		t.Fatal(err)
	}
	dir, r.dir = r.dir, t.TempDir()
	r.open() // for the end of the test
	return dir
}

// A state that a newer version wrote is refused as that, not as damaged, before anything is
// changed: not a byte of it, and no file.
func TestNewerStateIsRefused(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, tx *bbolt.Tx){
		"version": nextVersion,
		"version, without a bucket": func(t *testing.T, tx *bbolt.Tx) {
			nextVersion(t, tx)
			removeBucket(t, tx, layout.BucketDue)
		},
		"version, with another bucket in place of one": func(t *testing.T, tx *bbolt.Tx) {
			nextVersion(t, tx)
			removeBucket(t, tx, layout.BucketDue)
			putBucket(t, tx, "due2", 3)
		},
		"level": func(t *testing.T, tx *bbolt.Tx) {
			m := layout.Meta{Level: turn.NewestLevel + 1}
			sealed := layout.Seal(layout.KeyState, m.Encode())
			if err := tx.Bucket(layout.BucketMeta).Put(layout.KeyState, sealed); err != nil {
				t.Fatal(err)
			}
		},
		"an empty bucket": func(t *testing.T, tx *bbolt.Tx) { putBucket(t, tx, "another", 0) },
		"a small bucket":  func(t *testing.T, tx *bbolt.Tx) { putBucket(t, tx, "notes", 1) },
		"a large bucket":  func(t *testing.T, tx *bbolt.Tx) { putBucket(t, tx, "zones", 500) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := changed(t, change)
			before := filesOf(t, dir)
			m, err := Open(Config{Dir: dir})
			if err == nil {
				_ = m.Close()
			}
			if turn.KindOf(err) != turn.Newer || !strings.Contains(err.Error(), ": run the ") {
				t.Errorf("open: %v", err)
			}
			if _, err := StoredMembers(dir); turn.KindOf(err) != turn.Newer {
				t.Errorf("its members: %v", err)
			}
			if after := filesOf(t, dir); !maps.Equal(after, before) {
				t.Errorf("files were changed: there are %v, were %v", slices.Sorted(maps.Keys(after)),
					slices.Sorted(maps.Keys(before)))
			}
		})
	}
}

// A bucket whose name is not what was written is damage: the one that it was is missing.
func TestMisnamedBucketIsDamage(t *testing.T) {
	dir := changed(t, func(t *testing.T, tx *bbolt.Tx) {
		removeBucket(t, tx, layout.BucketDue)
		putBucket(t, tx, "dte", 3)
	})
	m, err := Open(Config{Dir: dir})
	if err == nil {
		_ = m.Close()
	}
	if !IsDamage(err) {
		t.Errorf("open: %v", err)
	}
	if _, err := StoredMembers(dir); !IsDamage(err) {
		t.Errorf("its members: %v", err)
	}
}
