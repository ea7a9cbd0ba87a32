package fsm

import (
	"runtime"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// A session that does not exist has no messages: removing some is no error, and begins no
// session.
func TestRemovingFromNoSession(t *testing.T) {
	r, revision := newRig(t), uint64(1)
	for name, ops := range map[string][3]turn.Op{ // without a condition, with one that holds, with one that does not
		"clear": {&turn.Clear{Key: sessionA}, &turn.Clear{Key: sessionA, Expect: new(uint64)},
			&turn.Clear{Key: sessionA, Expect: &revision}},
		"trim": {&turn.Trim{Key: sessionA}, &turn.Trim{Key: sessionA, Expect: new(uint64)},
			&turn.Trim{Key: sessionA, Expect: &revision}},
		"pop": {&turn.Pop{Key: sessionA, Count: 1}, &turn.Pop{Key: sessionA, Count: 1, Expect: new(uint64)},
			&turn.Pop{Key: sessionA, Count: 1, Expect: &revision}},
		"delete": {&turn.Delete{Keys: []turn.Key{sessionA}},
			&turn.Delete{Keys: []turn.Key{sessionA}, Expect: new(uint64)},
			&turn.Delete{Keys: []turn.Key{sessionA}, Expect: &revision}},
	} {
		for _, op := range ops[:2] {
			if out := r.apply(1, op)[0]; out.Err != nil ||
				out.Result.Removed+out.Result.Count+out.Result.Revision != 0 {
				t.Errorf("%s: %+v, %v", name, out.Result, out.Err)
			}
		}
		if out := r.apply(1, ops[2])[0]; turn.KindOf(out.Err) != turn.Conflict {
			t.Errorf("%s on condition of revision 1: %v", name, out.Err)
		}
		if s := r.query(&turn.Info{Key: sessionA}).Session; s != nil {
			t.Errorf("%s began a session", name)
		}
	}
}

// To remove messages of a large session, one block of them at a time is in memory, not
// all payloads.
func TestRemovalHoldsNoPayloads(t *testing.T) {
	const n, size = 3_000, 8 << 10
	last := &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 10}
	for _, c := range []struct {
		name string
		op   turn.Op
		left uint64
	}{
		{"keep last, few", last, 10},
		{"keep last, many", &turn.Trim{Key: sessionA, By: turn.KeepLast, N: n - 1_000}, n - 1_000},
		{"before", &turn.Trim{Key: sessionA, By: turn.BeforeSeq, N: n - 9}, 10},
		{"list range", &turn.Trim{Key: sessionA, By: turn.ListRange, Start: 1_000, Stop: 1_999}, 1_000},
		{"replace", &turn.Replace{Key: sessionA, From: 11}, 10},
		{"remove", &turn.RemoveElements{Key: sessionA, Data: []byte("none")}, n},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.fill(n, size)
			r.restart() // nothing is cached
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out := r.apply(2, c.op)[0]
			runtime.ReadMemStats(&after)
			s := r.query(&turn.Info{Key: sessionA}).Session
			if out.Err != nil || s.Count != c.left || s.Bytes != c.left*size {
				t.Fatalf("%d messages of %d bytes are left, %v", s.Count, s.Bytes, out.Err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > n*size/4 {
				t.Errorf("%d MiB were allocated for a session of %d MiB", used>>20, n*size>>20)
			}
			if got := r.query(&turn.List{Key: sessionA, Start: -1, Stop: -1}).Messages; len(got) != 1 {
				t.Error("the last is not there")
			}
			r.flush()
			if s := r.query(&turn.Info{Key: sessionA}).Session; s.Count != c.left {
				t.Errorf("%d messages are left", s.Count)
			}
		})
	}
}

// Blocks of trimmed messages are removed without being read, but for those around the
// window: damage in one goes with it.
func TestTrimmedBlocksAreNotRead(t *testing.T) {
	r := newRig(t)
	r.fill(20_000, 100)
	r.apply(2, &turn.Trim{Key: sessionA, By: turn.KeepLast, N: 1})
	if err := r.m.Flush(t.Context()); err != nil { // the blocks are garbage now
		t.Fatal(err)
	}
	for i := range 100 {
		r.rot(i)
	}
	r.m.mu.Lock()
	r.m.keys.Tables.Warm = nil
	r.m.mu.Unlock()
	for range 3 {
		if _, err := r.m.tidy(); err != nil {
			t.Fatal(err)
		}
	}
	if k, _ := r.pair(layout.BucketBlocks, 20); k != nil {
		t.Error("blocks of trimmed messages are left")
	}
}
