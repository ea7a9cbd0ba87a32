package fsm

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// pagesOf returns where the keys are on each leaf of a bucket, in the file of the store, and where
// its root, a branch, has its keys.
func (r *rig) pagesOf(bucket []byte) (leaves [][]int64, branch []int64) {
	r.t.Helper()
	tx, err := r.db().Begin(false)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tx.Rollback()
	size := int64(r.db().Info().PageSize)
	last := int64(-1)
	c := tx.Bucket(bucket).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		at := int64(uintptr(unsafe.Pointer(&k[0])) - r.db().Info().Data)
		if at/size != last {
			last, leaves = at/size, append(leaves, nil)
		}
		leaves[len(leaves)-1] = append(leaves[len(leaves)-1], at)
	}
	file, err := os.ReadFile(r.db().Path())
	if err != nil {
		r.t.Fatal(err)
	}
	root := int64(tx.Bucket(bucket).RootPage()) * size
	page := file[root:][:size]
	if flags := binary.NativeEndian.Uint16(page[8:]); flags != 1 {
		r.t.Fatalf("the root of %s has the flags %d: it is no branch", bucket, flags)
	}
	for i := range int(binary.NativeEndian.Uint16(page[10:])) {
		head := 16 + 16*i
		branch = append(branch, root+int64(head)+int64(binary.NativeEndian.Uint32(page[head:])))
	}
	return leaves, branch
}

// damagedSessions is how many sessions the tests have that flush over damaged pages, and
// damagedRounds how many messages each has at first.
const (
	damagedSessions = 40
	damagedRounds   = 6
)

func damagedSession(i int) turn.Key {
	return turn.Key{Namespace: "0", Name: fmt.Sprintf("%03d%s", i, strings.Repeat("x", 200))}
}

// damageable fills a store so that heads and blocks have several leaves, and closes it.
func damageable(t *testing.T) (base *rig, places map[string][][]int64, branches map[string][]int64) {
	base, _ = repairable(t)
	for round := range damagedRounds {
		data := "small"
		if round < damagedRounds-1 {
			data = strings.Repeat("x", 6000)
		}
		var ops []turn.Op
		for i := range damagedSessions {
			ops = append(ops, appendOf(damagedSession(i), fmt.Sprint(round), data))
		}
		base.apply(1, ops...)
		base.flush()
	}
	places, branches = make(map[string][][]int64), make(map[string][]int64)
	for _, b := range [][]byte{layout.BucketHeads, layout.BucketBlocks} {
		places[string(b)], branches[string(b)] = base.pagesOf(b)
		if n := len(places[string(b)]); n < 3 {
			t.Fatalf("%s has %d leaves", b, n)
		}
	}
	if err := base.m.Close(); err != nil {
		t.Fatal(err)
	}
	return base, places, branches
}

// copyOf opens a copy of a rig that is closed.
func (r *rig) copyOf(t *testing.T) *rig {
	c := &rig{t: t, dir: t.TempDir(), index: r.index}
	if err := os.CopyFS(c.dir, os.DirFS(r.dir)); err != nil {
		t.Fatal(err)
	}
	c.open()
	c.m.cfg.OnDamage = func(error) {}
	return c
}

// A bit that flips on a page while the node runs must not have a flush bring back what the page
// held before, be it in a key on the page or in the copy of its first key in the branch above: the
// flush fails, or what was written is read.
func TestFlushOverADamagedPage(t *testing.T) {
	base, leaves, branches := damageable(t)
	some, one := []int{}, []int{3}
	for i := range damagedSessions {
		if i%3 != 0 {
			some = append(some, i)
		}
	}
	noticed := 0
	for _, bucket := range []string{string(layout.BucketHeads), string(layout.BucketBlocks)} {
		leaf, at := leaves[bucket][1], branches[bucket][1]
		for what, place := range map[string]int64{"first key": leaf[0], "key": leaf[len(leaf)/2], "branch": at} {
			for _, bit := range []int{7*8 + 1, 14*8 + 1} {
				for _, sessions := range [][]int{some, one} {
					r := base.copyOf(t)
					r.flip(place, bit)
					if err := r.appendTo(sessions); err != nil {
						noticed++
					} else if err := r.expectAppended(fmt.Sprintf("%s, %s, bit %d, %d sessions", bucket, what, bit,
						len(sessions)), sessions); err != nil {
						noticed++
					}
					_ = r.m.Close()
				}
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
	r := base.copyOf(t)
	if err := r.appendTo(some); err != nil {
		t.Error(err)
	}
	if err := r.expectAppended("sound", some); err != nil {
		t.Error(err)
	}
	_ = r.m.Close()
}

// appendTo appends to sessions and flushes, until damage is noticed.
func (r *rig) appendTo(sessions []int) error {
	r.t.Helper()
	for _, i := range sessions {
		op, err := codec.EncodeOp(appendOf(damagedSession(i), "", "second"))
		if err != nil {
			r.t.Fatal(err)
		}
		r.index++
		r.m.Apply(r.index, 1, codec.AppendEntry(nil, 1, []codec.Command{{Op: op}}))
	}
	if err := r.m.Flush(r.t.Context()); err != nil {
		return err
	}
	r.m.mu.Lock()
	r.m.keys.Tables.Warm = nil
	r.m.mu.Unlock()
	return nil
}

// expectAppended requires that reads of sessions show all that was appended, here and before, or
// fail.
func (r *rig) expectAppended(what string, sessions []int) error {
	r.t.Helper()
	for _, i := range sessions {
		if err := r.expectMessages(damagedSession(i), damagedRounds+1, what); err != nil {
			return err
		}
	}
	return nil
}

// badSector fails to be read.
type badSector struct{ err error }

func (s badSector) ReadAt([]byte, int64) (int, error) {
	return 0, &os.PathError{Op: "read", Path: "state.db", Err: s.err}
}

// A flush that comes to a bad sector of the store halts the machine, which is repaired then. A read
// that failed for another reason says nothing of the store: it ends the machine.
func TestFlushComesToABadSector(t *testing.T) {
	for reason, damage := range map[syscall.Errno]bool{syscall.EIO: true, syscall.ENOMEM: false} {
		r, told := repairable(t)
		r.apply(1, appendOf(sessionA, "id", "hello"))
		r.flush()
		err := r.m.commit(func(u *store.Update) error {
			file := reflect.ValueOf(u).Elem().FieldByName("bytes")
			*(*io.ReaderAt)(unsafe.Pointer(file.UnsafeAddr())) = badSector{reason}
			return u.Bucket(layout.BucketHeads).PutSealed([]byte("0\x00k"), nil)
		})
		_, halted := r.m.Damage()
		if err == nil || halted != damage || (*told == 1) != damage || (r.m.Err() == nil) != damage {
			t.Errorf("%v: %v; halted: %v, told %d times, ended: %v", reason, err, halted, *told, r.m.Err())
		}
	}
}

// A bit in a block's key that reads wrong only while a flush looks for the block must not have what
// was removed come back, nor an edit undone.
func TestFlushMissesNoBlock(t *testing.T) {
	base, _, _ := damageable(t)
	of := damagedSession(20)
	for name, op := range map[string]turn.Op{
		"edit":   &turn.SetElement{Key: of, Index: 2, Data: []byte("edited")},
		"remove": &turn.RemoveElements{Key: of, Count: 2, Data: []byte(strings.Repeat("x", 6000))},
	} {
		for _, bit := range []int{1, 7*8 - 1, 7*8 + 4, 12 * 8, 15*8 + 2} {
			r := base.copyOf(t)
			places := r.blockKeys(r.query(&turn.Info{Key: of}).Session.Incarnation)
			r.apply(1, op)
			want := r.query(&turn.Read{Key: of, From: turn.FromAfter})
			for _, place := range places[:3] {
				r.flip(place, bit)
			}
			err := r.m.Flush(t.Context())
			for _, place := range places[:3] {
				r.flip(place, bit)
			}
			r.m.mu.Lock()
			r.m.keys.Tables.Warm = nil
			r.m.mu.Unlock()
			if err == nil {
				if got := r.query(&turn.Read{Key: of, From: turn.FromAfter}); !reflect.DeepEqual(got.Messages,
					want.Messages) {
					t.Errorf("%s, bit %d: the flush went well, and there are %d messages, not %d, or others", name, bit,
						len(got.Messages), len(want.Messages))
				}
			}
			_ = r.m.Close()
		}
	}
}

// A bit in a block's key that reads wrong only while the block's file is emptied must not have the
// file removed, as one that nothing refers to, and the block with it.
func TestEmptyingMissesNoBlock(t *testing.T) {
	base, _ := repairable(t)
	for i := range damagedSessions {
		base.apply(1, appendOf(damagedSession(i), "", strings.Repeat("x", 20_000))) // a file for each
	}
	base.flush()
	if err := base.m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, damagedSessions / 2, damagedSessions - 2} {
		for _, bit := range []int{7 * 8, 7*8 + 6, 12 * 8, 15*8 + 2} {
			r := base.copyOf(t)
			read := &turn.Read{Key: damagedSession(i)}
			place := r.blockKeys(r.query(&turn.Info{Key: read.Key}).Session.Incarnation)[0]
			r.flip(place, bit)
			err := r.m.commit(func(u *store.Update) error { return u.Empty(uint64(i + 1)) })
			r.flip(place, bit)
			if _, halted := r.m.Damage(); !halted {
				if got, lost := r.m.Query(read); lost != nil || len(got.Messages) != 1 {
					t.Errorf("session %d, bit %d: emptied: %v; now it has %d messages: %v", i, bit, err,
						len(got.Messages), lost)
				}
			}
			_ = r.m.Close()
		}
	}
}

// A damaged length of a block's key is found by the walk that comes to it. It does not end the
// process.
func TestKeyOfAnotherLength(t *testing.T) {
	base, leaves, _ := damageable(t)
	leaf := leaves[string(layout.BucketBlocks)][1]
	r := base.copyOf(t)
	size := int64(r.db().Info().PageSize)
	for n := range 2 * damagedRounds {
		place := leaf[0]/size*size + 16 + 16*int64(n) + 8 // where the length of the key is
		for _, bit := range []int{3, 4} {
			noticed := false
			for i := 0; i < damagedSessions && !noticed; i++ {
				r.flip(place, bit)
				_, err := r.m.Query(&turn.Read{Key: damagedSession(i), From: turn.FromAfter})
				r.flip(place, bit)
				noticed = err != nil
			}
			if !noticed {
				t.Errorf("element %d, bit %d: not noticed", n, bit)
			}
			_ = r.m.Close()
			r.open()
			r.m.cfg.OnDamage = func(error) {}
		}
	}
	_ = r.m.Close()
}
