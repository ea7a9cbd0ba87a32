package fsm

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// lagging returns a machine that has applied the log of r and then stays behind.
func lagging(r *rig) *rig {
	r.t.Helper()
	other := newRig(r.t)
	other.applyLog(r.log)
	other.log, other.index = slices.Clone(r.log), r.index
	return other
}

// takeOver has a lagging machine restore the state of r.
func (r *rig) takeOver(from *rig) {
	r.t.Helper()
	if err := r.m.Restore(bytes.NewReader(from.dump())); err != nil {
		r.t.Fatal(err)
	}
	r.log, r.index = slices.Clone(from.log), from.index
}

// A machine that restores the state of another one knows the ids of messages that it did not
// apply itself: its windows of ids, from before, do not count.
func TestRestoreBringsIDs(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id0", "0"))
	r.apply(1, appendOf(sessionA, "id0", "0")) // so that there is a window
	behind := lagging(r)
	for i := 1; i <= 20; i++ {
		r.apply(1, appendOf(sessionA, fmt.Sprint("id", i), fmt.Sprint(i)))
	}
	behind.takeOver(r)
	for i := range 21 {
		got := behind.apply(1, appendOf(sessionA, fmt.Sprint("id", i), fmt.Sprint(i)))[0]
		if got.Err != nil || !got.Result.Duplicate || got.Result.First != uint64(i+1) {
			t.Fatalf("message %d is sent again: %+v, %v", i, got.Result, got.Err)
		}
	}
}

// Nothing that a machine had in memory, flushed or not, is seen after a restore.
func TestRestoreForgetsTables(t *testing.T) {
	for name, prepare := range map[string]func(*rig){
		"not flushed": func(*rig) {},
		"warm":        (*rig).flushWarm,
		"stored":      (*rig).flush,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.apply(1, appendOf(sessionA, "", "old"), &turn.SetString{Key: gapsKey, Value: []byte("old")})
			behind := lagging(r)
			prepare(behind)
			r.apply(2, &turn.Delete{Keys: []turn.Key{gapsKey}}, appendOf(sessionA, "", "new"))
			behind.takeOver(r)
			read := behind.query(&turn.Read{Key: sessionA})
			if n := len(read.Messages); n != 2 {
				t.Errorf("%d messages after the restore, want 2", n)
			}
			if got := behind.query(&turn.GetString{Key: gapsKey}); got.Found {
				t.Errorf("a key that is deleted is there after the restore: %q", got.Value)
			}
			if got, want := behind.fork(t).hash(), r.fork(t).hash(); got != want {
				t.Errorf("hash %s, want %s", got, want)
			}
		})
	}
}

// Walks do not pass over keys that came with a restore, where nothing was before.
func TestRestoreForgetsGaps(t *testing.T) {
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprintf("key%03d", i)} }
	r := newRig(t)
	var sets, deletes []turn.Op
	for i := range 200 {
		sets = append(sets, &turn.SetString{Key: key(i), Value: []byte("v")})
		deletes = append(deletes, &turn.Delete{Keys: []turn.Key{key(i)}})
	}
	r.apply(1, sets...)
	behind := lagging(r)
	behind.flush()
	behind.apply(1, deletes...)
	behind.apply(1, &turn.Erase{Namespace: "0", Limit: 100}) // it learns that nothing is there
	if behind.m.keys.Gaps.Len() == 0 {
		t.Fatal("the walk has learned no gap")
	}
	r.apply(1, deletes...)
	r.apply(1, &turn.Erase{Namespace: "0", Limit: 100})
	r.apply(1, sets[10], sets[100])
	behind.takeOver(r)
	behind.apply(1, deletes[10]) // from here on a walk would pass over what it knows to be empty
	if _, live := behind.deadKeys(); !slices.Equal(live, []string{key(100).Name}) {
		t.Errorf("after the restore a walk shows %q", live)
	}
}

// What waits for an entry or a change learns that a restore brought it.
func TestRestoreIsTold(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "", "1"))
	behind := lagging(r)
	r.apply(1, appendOf(sessionA, "", "2"))
	changed, stop := behind.m.Watch(sessionA)
	defer stop()
	w := behind.m.waiters.add(r.index)
	behind.takeOver(r)
	select {
	case <-w.done:
	default:
		t.Error("the last entry of the restored state is still awaited")
	}
	select {
	case <-changed:
	default:
		t.Error("a session that changed is watched, and nothing was told")
	}
}

// lateDisk has errors from the moment on that a restored state has taken the place of the store.
type lateDisk struct {
	store.OSDisk
	renamed    bool
	sync, open error
}

func (d *lateDisk) Rename(from, to string) error {
	d.renamed = true
	return d.OSDisk.Rename(from, to)
}

func (d *lateDisk) SyncDir(dir string) error {
	if d.renamed && d.sync != nil {
		return d.sync
	}
	return d.OSDisk.SyncDir(dir)
}

func (d *lateDisk) OpenDB(path string, o *bbolt.Options) (*bbolt.DB, error) {
	if d.renamed && filepath.Base(path) == "state.db" {
		return nil, d.open
	}
	return d.OSDisk.OpenDB(path, o)
}

// A restored state that has taken the place of the store keeps its blocks, whatever goes wrong
// then: the node starts from it.
func TestRestoredStateKeepsItsBlocks(t *testing.T) {
	from := newRig(t)
	from.apply(1, appendOf(sessionA, "id", "hello"))
	dump := from.dump()
	for name, disk := range map[string]*lateDisk{
		"sync":    {sync: syscall.EIO},
		"open":    {open: syscall.ENOMEM},
		"damaged": {open: bolterrors.ErrChecksum},
	} {
		r, _ := repairable(t)
		r.m.store.Disk = disk
		if err := r.m.Restore(bytes.NewReader(dump)); err == nil || !disk.renamed {
			t.Errorf("%s: restored: %v", name, err)
		}
		if err := r.m.Restore(bytes.NewReader(dump[:len(dump)-1])); err == nil {
			t.Errorf("%s: half a dump was restored", name)
		}
		if err := r.m.Close(); err != nil {
			t.Error(err)
		}
		m, err := Open(Config{Dir: r.dir})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := m.Query(&turn.Read{Key: sessionA}); err != nil || len(got.Messages) != 1 {
			t.Errorf("%s: %d messages: %v", name, len(got.Messages), err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// spoilingDisk has a pair of a restored state damaged when it has taken the place of the store.
type spoilingDisk struct {
	lateDisk
	t testing.TB
}

func (d *spoilingDisk) OpenDB(path string, o *bbolt.Options) (*bbolt.DB, error) {
	db, err := d.OSDisk.OpenDB(path, o)
	if err == nil && d.renamed {
		if err := db.Update(func(tx *bbolt.Tx) error {
			return tx.Bucket(layout.BucketNamespaces).Put([]byte("spoiled"), []byte("not sealed"))
		}); err != nil {
			d.t.Error(err)
		}
	}
	return db, err
}

// A restored state that has taken the place of the store and cannot be read leaves the former one
// closed, as soon as no query or dump reads that any more. The machine tells of it meanwhile.
func TestFormerStateIsClosed(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	dump := r.dump()
	r.m.store.Disk = &spoilingDisk{t: t}
	former := r.db()
	reader, err := r.m.Dump()
	if err != nil {
		t.Fatal(err)
	}
	restored := make(chan error)
	go func() { restored <- r.m.Restore(bytes.NewReader(dump)) }()
	<-r.m.Fatal()
	if err := r.m.Err(); turn.KindOf(err) != turn.Corrupt {
		t.Errorf("the machine stopped: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if err := <-restored; turn.KindOf(err) != turn.Corrupt {
		t.Errorf("restored: %v", err)
	}
	if tx, err := former.Begin(false); err == nil {
		t.Error("the former state is still open")
		_ = tx.Rollback()
	}
}

// An entry is awaited until it is applied, and no longer.
func TestWaitApplied(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "", "1"))
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.m.WaitApplied(soon, r.index); err != nil {
		t.Fatalf("an entry that is applied: %v", err)
	}
	this, next := r.m.waiters.add(r.index+1), r.m.waiters.add(r.index+2)
	r.apply(1, appendOf(sessionA, "", "2"))
	select {
	case <-this.done:
	default:
		t.Error("an entry is applied, and still awaited")
	}
	select {
	case <-next.done:
		t.Error("the next entry is taken for applied")
	default:
	}
	r.m.waiters.drop(next)
}

// A member stays known under the directory that it was recorded with, whatever another one
// of its name brings, until it is removed.
func TestMemberKeepsItsDirectory(t *testing.T) {
	r := newRig(t)
	r.apply(1, &codec.Member{ID: "n1", Incarnation: "a", RESPAddr: "r", HTTPAddr: "h"},
		&codec.Member{ID: "n2", Incarnation: "b"})
	if out := r.apply(1, &codec.Member{ID: "n1", Incarnation: "x", RESPAddr: "r2"}); out[0].Err == nil ||
		out[0].Err.Kind != turn.Exists {
		t.Errorf("another directory under the name of a member: %v", out[0].Err)
	}
	want := []codec.Member{{ID: "n1", Incarnation: "a", RESPAddr: "r", HTTPAddr: "h"}, {ID: "n2", Incarnation: "b"}}
	if got := r.m.Members(); !slices.Equal(got, want) {
		t.Errorf("recorded are %+v", got)
	}
	want[0].RESPAddr = "moved"
	if out := r.apply(1, &want[0]); out[0].Err != nil || !slices.Equal(r.m.Members(), want) {
		t.Errorf("a member that moved: %v; recorded are %+v", out[0].Err, r.m.Members())
	}
	want[0] = codec.Member{ID: "n1", Incarnation: "x"}
	for i, out := range r.apply(1, &codec.Member{ID: "n1", Remove: true}, &want[0]) {
		if out.Err != nil {
			t.Errorf("removed and added again, step %d: %v", i, out.Err)
		}
	}
	if got := r.m.Members(); !slices.Equal(got, want) {
		t.Errorf("after that, recorded are %+v", got)
	}
}
