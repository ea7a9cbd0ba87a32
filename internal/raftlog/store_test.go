package raftlog

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/turnlog/turnlog/wal"
)

// engines opens each engine on a directory; the same tests run on all.
var engines = map[string]func(dir string) (Engine, error){
	"wal": func(dir string) (Engine, error) {
		l, err := wal.Open(filepath.Join(dir, "wal"), wal.Options{SegmentBytes: 64 << 10})
		return OverWAL(l), err
	},
	"boltdb": func(dir string) (Engine, error) { return OpenBolt(filepath.Join(dir, "log.db")) },
}

// bench is a log store whose halts become errors.
type bench struct {
	*Store
	t      *testing.T
	failed error // why the node is to stop
	dir    string
	open   func(string) (Engine, error)
}

type halted struct{ err error }

func eachEngine(t *testing.T, test func(t *testing.T, b *bench)) {
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			b := &bench{t: t, dir: t.TempDir(), open: open}
			b.reopen()
			t.Cleanup(func() { _ = b.Close() })
			test(t, b)
		})
	}
}

func (b *bench) reopen() {
	b.t.Helper()
	if b.Store != nil {
		if err := b.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	e, err := b.open(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Store = New(e, Config{
		Fail: func(err error) { b.failed = err }, Halt: func(err error) { panic(halted{err}) },
		Known: func() Known { return Known{} }, Placed: func() {}, Leads: func() bool { return false },
	})
}

// try runs a step and returns why the store halted, nil if it did not.
func try(step func() error) (err error, stopped bool) {
	defer func() {
		if r := recover(); r != nil {
			h, ok := r.(halted)
			if !ok {
				panic(r)
			}
			err, stopped = h.err, true
		}
	}()
	return step(), false
}

func entries(from, to, term uint64) (logs []*raft.Log) {
	for i := from; i <= to; i++ {
		logs = append(logs, &raft.Log{
			Index: i, Term: term, Type: raft.LogCommand, Data: []byte(fmt.Sprintf("%d/%d", i, term)),
			AppendedAt: time.Unix(1700000000, int64(i)),
		})
	}
	return logs
}

func (b *bench) store(logs []*raft.Log) {
	b.t.Helper()
	if err, _ := try(func() error { return b.StoreLogs(logs) }); err != nil {
		b.t.Fatalf("store %d…: %v", logs[0].Index, err)
	}
}

func (b *bench) remove(low, high uint64) {
	b.t.Helper()
	if err, _ := try(func() error { return b.DeleteRange(low, high) }); err != nil {
		b.t.Fatalf("remove %d to %d: %v", low, high, err)
	}
}

// holds checks that the log consists of the given runs, now and after reopening.
func (b *bench) holds(want ...[]*raft.Log) {
	b.t.Helper()
	for range 2 {
		var all []*raft.Log
		for _, w := range want {
			all = append(all, w...)
		}
		var first, last uint64
		if len(all) > 0 {
			first, last = all[0].Index, all[len(all)-1].Index
		}
		if f, _ := b.FirstIndex(); f != first {
			b.t.Fatalf("the log begins at %d, want %d", f, first)
		}
		if l, _ := b.LastIndex(); l != last {
			b.t.Fatalf("the log ends at %d, want %d", l, last)
		}
		for _, w := range all {
			var got raft.Log
			if err := b.GetLog(w.Index, &got); err != nil {
				b.t.Fatalf("entry %d: %v", w.Index, err)
			}
			if got.Term != w.Term || string(got.Data) != string(w.Data) || got.Type != w.Type ||
				!got.AppendedAt.Equal(w.AppendedAt) ||
				string(got.Extensions) != string(w.Extensions) {
				b.t.Fatalf("entry %d is %+v, want %+v", w.Index, got, w)
			}
		}
		for _, i := range []uint64{first - 1, last + 1} {
			if err := b.GetLog(i, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
				b.t.Fatalf("entry %d: %v", i, err)
			}
		}
		b.reopen()
	}
}

func TestLogStore(t *testing.T) {
	cases := map[string]func(b *bench){
		"empty": func(b *bench) { b.holds() },
		"append": func(b *bench) {
			b.store(entries(1, 3, 1))
			b.store(entries(4, 4, 2))
			b.holds(entries(1, 3, 1), entries(4, 4, 2))
		},
		"all fields": func(b *bench) {
			logs := []*raft.Log{
				{Index: 1, Term: 7, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(raft.Configuration{}),
					Extensions: []byte("ext")},
				{Index: 2, Term: 7, Type: raft.LogNoop},
			}
			b.store(logs)
			b.holds(logs)
		},
		"prefix removed": func(b *bench) {
			b.store(entries(1, 2000, 1))
			b.remove(1, 1500)
			b.holds(entries(1501, 2000, 1))
		},
		"suffix removed and replaced": func(b *bench) {
			b.store(entries(1, 2000, 1))
			b.remove(700, 2000)
			b.holds(entries(1, 699, 1))
			b.store(entries(700, 705, 2))
			b.holds(entries(1, 699, 1), entries(700, 705, 2))
		},
		"all removed and replaced": func(b *bench) {
			b.store(entries(1, 9, 1))
			b.remove(1, 9)
			b.holds()
			b.store(entries(1, 2, 2))
			b.holds(entries(1, 2, 2))
		},
		"range beyond the log": func(b *bench) {
			b.store(entries(5, 9, 1))
			b.remove(1, 4)
			b.remove(10, 20)
			b.remove(1, 6)
			b.holds(entries(7, 9, 1))
		},
		"gap": func(b *bench) {
			b.store(entries(1, 9, 1))
			b.store(entries(50, 52, 3))
			b.holds(entries(50, 52, 3))
		},
		"large": func(b *bench) {
			logs := entries(1, 5, 1)
			for _, l := range logs {
				l.Data = []byte(strings.Repeat(string(l.Data), 2<<20))
			}
			b.store(logs)
			b.holds(logs)
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { eachEngine(t, func(_ *testing.T, b *bench) { test(b) }) })
	}
}

func TestLogStoreTail(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		logs := entries(10, 29, 1)
		for _, l := range logs {
			l.Data = make([]byte, 10_000)
		}
		b.store(logs)
		for range 2 {
			for bytes, want := range map[int64]uint64{0: 30, 9_999: 30, 10_500: 29, 52_000: 25, 1 << 30: 10} {
				if got := b.IndexForTail(bytes); got != want {
					t.Errorf("a tail of %d bytes begins at %d, want %d", bytes, got, want)
				}
			}
			b.reopen()
		}
	})
}

// What a snapshot covers must not be taken for what was committed.
func TestLogFitsToSnapshot(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		cover := func(index, term uint64) {
			t.Helper()
			if err := b.FitToSnapshot(index, term); err != nil {
				t.Fatal(err)
			}
		}
		get := func(index uint64) uint64 {
			var l raft.Log
			if err := b.GetLog(index, &l); err != nil {
				t.Fatalf("entry %d: %v", index, err)
			}
			return l.Term
		}
		b.store(entries(1, 20, 1))
		cover(10, 1) // the log agrees
		if f, _ := b.FirstIndex(); f != 1 {
			t.Fatalf("the log begins at %d", f)
		}
		cover(15, 3) // it does not: entries 1 to 15 are not what was committed
		if f, _ := b.FirstIndex(); f != 16 {
			t.Fatalf("the log begins at %d", f)
		}
		if term := get(15); term != 3 {
			t.Fatalf("the term before the log is %d", term)
		}
		if err := b.GetLog(14, new(raft.Log)); !errors.Is(err, raft.ErrLogNotFound) {
			t.Fatalf("entry 14: %v", err)
		}
		b.remove(16, 20) // Raft finds out the rest by itself
		b.store(entries(16, 17, 3))
		cover(40, 4) // beyond the log
		if l, _ := b.LastIndex(); l != 0 {
			t.Fatalf("the log ends at %d", l)
		}
		b.store(entries(41, 42, 4))
		if get(40) != 4 || get(41) != 4 {
			t.Fatal("the log does not continue the snapshot")
		}
	})
}

// failing is an engine whose appends fail as told.
type failing struct {
	Engine
	err error
}

func (f *failing) TruncateBefore(index uint64) error {
	if f.err != nil {
		return f.err
	}
	return f.Engine.TruncateBefore(index)
}

func (f *failing) Append(logs []*raft.Log) error {
	if f.err != nil {
		return f.err
	}
	return f.Engine.Append(logs)
}

func TestLogStoreFailsStop(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		f := &failing{Engine: b.engine}
		b.engine = f
		b.store(entries(1, 5, 1))

		f.err = wal.ErrNoSpace
		if err, stopped := try(func() error { return b.StoreLogs(entries(6, 6, 1)) }); stopped ||
			!errors.Is(err, wal.ErrNoSpace) {
			t.Fatalf("a full disk: %v, halted %v", err, stopped)
		}
		f.err = nil
		b.store(entries(6, 6, 1)) // it healed

		b.remove(6, 6)
		b.store(entries(6, 6, 2)) // from here on Raft knows again where its log ends
		f.err = wal.ErrNoSpace
		if err, stopped := try(func() error { return b.StoreLogs(entries(7, 7, 2)) }); stopped ||
			!errors.Is(err, wal.ErrNoSpace) {
			t.Fatalf("a full disk after a suffix was replaced: %v, halted %v", err, stopped)
		}

		b.remove(4, 6)
		if _, stopped := try(func() error { return b.StoreLogs(entries(4, 4, 2)) }); !stopped {
			t.Fatal("a full disk after a suffix was removed does not halt the node")
		}
		f.err = errors.New("input/output error")
		if _, stopped := try(func() error { return b.StoreLogs(entries(4, 4, 2)) }); !stopped {
			t.Fatal("a failed write does not halt the node")
		}
		if err, stopped := try(func() error { return b.DeleteRange(1, 1) }); stopped || !errors.Is(err, f.err) ||
			b.failed != err {
			t.Fatalf("a failed compaction: %v, halted %v, the node stops for %v", err, stopped, b.failed)
		}
		if _, stopped := try(func() error { return b.DeleteRange(2, 2) }); !stopped {
			t.Fatal("a hole in the log does not halt the node")
		}
	})
}

// fullFrom is an engine whose disk is full from an entry on.
type fullFrom struct {
	Engine
	index uint64 // 0: it is not full
	stuck error  // of attempts to remove entries
}

func (f *fullFrom) Append(logs []*raft.Log) error {
	if last := logs[len(logs)-1].Index; f.index > 0 && last >= f.index {
		return fmt.Errorf("%w: entry %d", wal.ErrNoSpace, last)
	}
	return f.Engine.Append(logs)
}

func (f *fullFrom) TruncateAfter(index uint64) error {
	if f.stuck != nil {
		return f.stuck
	}
	return f.Engine.TruncateAfter(index)
}

// Entries that take more than one append are stored all, or none: Raft does not know of a part, and stores the next
// ones, be it others, in the place of the first of these.
func TestLargeStoreOnAFullDisk(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		large := func(from, to, term uint64) []*raft.Log {
			logs := entries(from, to, term)
			for _, l := range logs {
				l.Data = []byte(strings.Repeat("x", maxAppend/3))
			}
			return logs
		}
		f := &fullFrom{Engine: b.engine, index: 9}
		b.engine = f
		b.store(entries(1, 5, 1))
		for range 2 {
			err, stopped := try(func() error { return b.StoreLogs(large(6, 9, 1)) })
			if stopped || !errors.Is(err, wal.ErrNoSpace) {
				t.Fatalf("the second append finds a full disk: %v, halted %v", err, stopped)
			}
			if last := b.LastDurable(); last != 5 {
				t.Fatalf("the log ends at %d", last)
			}
		}
		f.index = 0
		b.store(large(6, 9, 2))
		f.index = 30
		err, stopped := try(func() error { return b.StoreLogs(large(27, 30, 3)) })
		if stopped || !errors.Is(err, wal.ErrNoSpace) {
			t.Fatalf("behind a snapshot: %v, halted %v", err, stopped)
		}
		f.index = 0
		b.store(entries(27, 28, 4))
		f.index, f.stuck = 33, wal.ErrNoSpace
		if _, stopped := try(func() error { return b.StoreLogs(large(29, 33, 4)) }); !stopped {
			t.Error("a part that cannot be removed does not halt the node")
		}
		b.engine = f.Engine
		b.holds(entries(27, 28, 4), large(29, 31, 4))
	})
}

// asked is an engine that tests how its room is asked for.
type asked struct {
	Engine
	room func() int64
}

func (a *asked) Room() int64 { return a.room() }

// What is being written takes of the room: both are looked at together, or an entry is taken for which there is no room
// any more.
func TestRoomIsReadWithWhatIsBeingWritten(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		b.store(entries(1, 5, 1))
		times := 0
		b.engine = &asked{b.engine, func() int64 {
			times++
			if b.parallel.mu.TryLock() {
				b.parallel.mu.Unlock()
				t.Error("the room is read while an append may end")
			}
			return 0
		}}
		b.NewTerm(1)
		b.parallel.lead(1, 3)
		b.store(entries(6, 6, 1))
		if times != 1 {
			t.Errorf("the room was read %d times", times)
		}
	})
}
