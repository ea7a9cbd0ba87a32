package fsm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// spaceOf returns how many bytes the block files take, and how many of them count.
func (r *rig) spaceOf() (size, live int64) {
	r.t.Helper()
	files, err := os.ReadDir(filepath.Join(r.dir, "blocks"))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			r.t.Fatal(err)
		}
		size += info.Size()
	}
	for _, u := range r.uses() {
		live += u[1]
	}
	return size, live
}

// settle flushes, and tidies until there is nothing left to be tidied.
func (r *rig) settle() {
	r.t.Helper()
	more, err := r.m.flush()
	for more && err == nil {
		more, err = r.m.tidy()
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// Sessions that are rewritten, trimmed and deleted over and over leave files that
// take no more than a few times what they hold, and the account of it is exact.
func TestBlockFilesAreEmptied(t *testing.T) {
	r := newRig(t)
	data := bytes.Repeat([]byte("x"), 700)
	keyOf := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	for round := range 60 {
		for i := range 20 {
			r.apply(int64(round), &turn.Append{Key: keyOf(i), Messages: []turn.NewMessage{{Data: data}, {Data: data}}})
			if i%3 == 0 {
				r.apply(int64(round), &turn.Trim{Key: keyOf(i), By: turn.KeepLast, N: 5})
			}
		}
		if round%20 == 19 {
			for i := range 10 {
				r.apply(int64(round), &turn.Delete{Keys: []turn.Key{keyOf(i)}})
			}
		}
		r.flush()
	}
	before := storeHash(t, r.m)
	r.settle()
	size, live := r.spaceOf()
	if live == 0 || size > 3*live+2*(16<<10) {
		t.Fatalf("the files take %d bytes, of which %d count", size, live)
	}
	if got := storeHash(t, r.m); got != before {
		t.Fatal("emptying files has changed the state")
	}
	r.checkAccount()
	r.restart()
	r.checkAccount()
}

// checkAccount holds the account of the block files against what the store refers to.
func (r *rig) checkAccount() {
	r.t.Helper()
	want := make(map[uint64]int64)
	if err := r.db().View(func(tx *bbolt.Tx) error {
		return tx.Bucket(layout.BucketBlocks).ForEach(func(k, v []byte) error {
			ref, err := layout.DecodeRef(k, v)
			want[ref.File] += ref.Size()
			return err
		})
	}); err != nil {
		r.t.Fatal(err)
	}
	for n, u := range r.uses() {
		if u[1] != want[n] {
			r.t.Fatalf("file %d: %d bytes are said to count, %d are referred to", n, u[1], want[n])
		}
		delete(want, n)
	}
	if len(want) > 0 {
		r.t.Fatalf("files %v are referred to and not in the account", want)
	}
}

// Cleaning up does not flush what has only begun to gather.
func TestTidyLeavesTheYoungMemtable(t *testing.T) {
	r := newRig(t)
	for i := range store.GarbageChunk/100 + 50 {
		r.apply(1, appendOf(turn.Key{Namespace: "0", Name: fmt.Sprint(i)}, "", string(make([]byte, 9000))))
	}
	r.flush()
	before, _ := r.spaceOf()
	r.apply(1, &turn.Erase{Namespace: "0", Limit: 1000})
	r.flush()
	r.apply(2, appendOf(sessionA, "", "young"))
	durable, _ := r.m.Durable()
	for more := true; more; {
		var err error
		if more, err = r.m.tidy(); err != nil {
			t.Fatal(err)
		}
	}
	if after, _ := r.spaceOf(); after > before/10 {
		t.Fatalf("the files took %d bytes and take %d", before, after)
	}
	if now, _ := r.m.Durable(); now != durable || len(r.m.keys.Tables.Active.Heads) != 1 {
		t.Fatalf("entries to %d are in the store, %d were; %d keys wait", now, durable,
			len(r.m.keys.Tables.Active.Heads))
	}
	r.checkAccount()
	r.restart()
	if got := r.query(&turn.Read{Key: sessionA}); len(got.Messages) != 1 {
		t.Fatal("the young message is lost")
	}
}

// A file that nothing refers to any more goes, while a dump that needs it goes on.
func TestDumpOutlivesItsFiles(t *testing.T) {
	r := newRig(t)
	data := bytes.Repeat([]byte("x"), 3000)
	for i := range 50 {
		r.apply(1, appendOf(turn.Key{Namespace: "0", Name: fmt.Sprint(i)}, "", string(data)))
	}
	r.flush()
	d, err := r.m.Dump()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r.apply(2, &turn.Erase{Namespace: "0", Limit: 1000})
	r.apply(2+turn.TombstoneTime, appendOf(sessionA, "", "later"))
	r.settle()
	if size, _ := r.spaceOf(); size > 40_000 {
		t.Fatalf("the files of what was deleted still take %d bytes", size)
	}
	var out bytes.Buffer
	if _, err := d.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	other := newRig(t)
	if err := other.m.Restore(&out); err != nil {
		t.Fatal(err)
	}
	if got := other.query(&turn.Read{Key: turn.Key{Namespace: "0", Name: "49"}}); len(got.Messages) != 1 ||
		!bytes.Equal(got.Messages[0].Data, data) {
		t.Fatal("the dump has lost a session that was deleted after it")
	}
	other.checkAccount()
}

// Damage to a block file is found when the block is read, or at the start.
func TestDamagedBlockFile(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	r.flush()
	path := r.newestBlockFile()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.m.Query(&turn.Read{Key: sessionA}); turn.KindOf(err) != turn.Corrupt {
		t.Fatalf("read: %v, want %v", err, turn.Corrupt)
	}
	_ = r.m.Close()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: r.dir}); turn.KindOf(err) != turn.Corrupt {
		t.Fatalf("open: %v, want %v", err, turn.Corrupt)
	}
	r.dir = t.TempDir()
	r.open()
}
