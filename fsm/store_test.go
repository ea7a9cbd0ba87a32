package fsm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/queries"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Trims on the tail side must leave old messages of the head side alone, also
// once they are in blocks of their own far below.
func TestTrimOfOneSideKeepsTheOther(t *testing.T) {
	r := newRig(t)
	push := func(n int, side turn.Side) {
		for range n {
			r.apply(1, &turn.Append{Key: sessionA, Side: side,
				Messages: []turn.NewMessage{{Data: bytes.Repeat([]byte("x"), 100)}}})
		}
	}
	push(500, turn.Head)
	push(1500, turn.Tail)
	r.flush()
	for range 10 {
		r.apply(1, &turn.Trim{Key: sessionA, By: turn.ListRange, Start: 0, Stop: 700})
		push(100, turn.Tail)
		r.apply(1, &turn.Pop{Key: sessionA, From: turn.Head, Count: 10})
		r.flush()
	}
	got := r.query(&turn.List{Key: sessionA, Start: 0, Stop: -1})
	if n := uint64(len(got.Messages)); n != got.Count || n != 701+100-10 {
		t.Fatalf("%d elements, session says %d, want %d", n, got.Count, 791)
	}
	for i, m := range got.Messages[:400] {
		if m.Seq != uint64(400-i) {
			t.Fatalf("element %d has seq %d, want %d", i, m.Seq, 400-i)
		}
	}
}

// A session of a million and a deletion of thousands are removed in steps, and so
// are the elements of a hash.
func TestGarbageIsCollected(t *testing.T) {
	r := newRig(t)
	for i := range 3000 {
		r.apply(1, &turn.Append{Key: turn.Key{Namespace: "0", Name: fmt.Sprint(i % 30)},
			Messages: []turn.NewMessage{{Data: make([]byte, 500)}}})
	}
	hash := &turn.SetFields{Key: turn.Key{Namespace: "0", Name: "hash"}, Type: turn.TypeHash}
	for i := range store.GarbageChunk + 1 {
		hash.Fields = append(hash.Fields, turn.Field{Name: fmt.Sprint(i)})
	}
	r.apply(1, hash)
	r.flush()
	cursor, removed := "", uint64(0)
	for {
		out := r.apply(1, &turn.Erase{Namespace: "0", Limit: 7, Cursor: cursor})[0]
		removed += out.Result.Removed
		if cursor = out.Result.Cursor; cursor == "" {
			break
		}
	}
	if removed != 31 {
		t.Fatalf("%d keys erased, want 31", removed)
	}
	r.settle()
	r.expectEmpty(layout.BucketHeads, layout.BucketBlocks, layout.BucketElements, layout.BucketGarbage)
}

// expectEmpty requires that there is nothing left in some buckets of the store.
func (r *rig) expectEmpty(buckets ...[]byte) {
	r.t.Helper()
	if err := r.db().View(func(tx *bbolt.Tx) error {
		for _, b := range buckets {
			if k, _ := tx.Bucket(b).Cursor().First(); k != nil {
				r.t.Errorf("%s still holds %x", b, k)
			}
		}
		return nil
	}); err != nil {
		r.t.Fatal(err)
	}
}

// A listing of the few keys of a type among many others comes in short pages.
func TestListingLooksAtSoManyKeys(t *testing.T) {
	r := newRig(t)
	var ops []turn.Op
	for i := range queries.MaxLooked + 10 {
		ops = append(ops, &turn.SetString{Key: turn.Key{Namespace: "0", Name: fmt.Sprintf("k%06d", i)}})
	}
	r.apply(1, append(ops, setOf(turn.Key{Namespace: "0", Name: "z"}, "member"))...)
	q := &turn.Sessions{Namespace: "0", Limit: 1, List: true, Type: turn.TypeSet}
	page := r.query(q)
	if want := fmt.Sprintf("k%06d", queries.MaxLooked-1); len(page.Sessions) != 0 || page.Cursor != want {
		t.Fatalf("the first page has %v and cursor %q, want %q", page.Sessions, page.Cursor, want)
	}
	q.Cursor = page.Cursor
	if page := r.query(q); len(page.Sessions) != 1 || page.Sessions[0].Key.Name != "z" || page.Cursor != "" {
		t.Fatalf("the second page has %v and cursor %q", page.Sessions, page.Cursor)
	}
}

// A cursor is a key that was listed, so that a client that lists the keys can find it.
func TestCursorIsAListedKey(t *testing.T) {
	r := newRig(t)
	key := func(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }
	r.apply(1, appendOf(key("a"), "", "x"), appendOf(key("b"), "", "x"), &turn.Clear{Key: key("b")},
		appendOf(key("c"), "", "x"))
	if got := r.query(&turn.Sessions{Namespace: "0", Limit: 1, List: true}).Cursor; got != "a" {
		t.Fatalf("the cursor after a is %q", got)
	}
}

// What Run leaves in the store: all that was applied if it is told to end, and what was
// there before if it is told why.
func TestRunEndsAsItIsTold(t *testing.T) {
	for cause, want := range map[error]uint64{nil: 1, errors.New("the node has failed"): 0} {
		r := newRig(t)
		r.apply(1, appendOf(turn.Key{Namespace: "0", Name: "a"}, "", "x"))
		ctx, end := context.WithCancelCause(t.Context())
		end(cause)
		if err := r.m.Run(ctx); err != nil {
			t.Error(err)
		}
		if index, _ := r.m.Durable(); index != want {
			t.Errorf("ended with cause %v, the store has entry %d, want %d", cause, index, want)
		}
	}
}

// Readers, flushes and expiry at once, with a flush after every few entries: a
// reader sees each session's messages without gap, in order, never fewer than a
// moment before.
func TestReadersDuringFlushes(t *testing.T) {
	m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 20_000, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	const sessions, rounds = 5, 3000
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	for i := range sessions {
		wg.Go(func() {
			last := uint64(0)
			for last < rounds {
				r, err := m.Query(&turn.Read{Key: key(i), From: turn.FromAfter, Seq: last / 2})
				if err != nil {
					t.Error(err)
					return
				}
				for j, msg := range r.Messages {
					if want := last/2 + uint64(j) + 1; msg.Seq != want || string(msg.Data) != fmt.Sprint(want) {
						t.Errorf("session %d: place %d after %d has seq %d, data %q", i, j, last/2, msg.Seq, msg.Data)
						return
					}
				}
				if r.Last < last || uint64(len(r.Messages)) != r.Last-last/2 {
					t.Errorf("session %d: %d messages after %d, last is %d, was %d", i, len(r.Messages), last/2,
						r.Last, last)
					return
				}
				last = r.Last
				if err := m.WaitApplied(ctx, r.Index+1); err != nil && last < rounds {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := 1; n <= rounds; n++ {
		var cmds []codec.Command
		for i := range sessions {
			b, err := codec.EncodeOp(appendOf(key(i), fmt.Sprint(n), fmt.Sprint(n)))
			if err != nil {
				t.Fatal(err)
			}
			cmds = append(cmds, codec.Command{Op: b})
		}
		m.Apply(uint64(n), 1, codec.AppendEntry(nil, int64(n), cmds))
	}
	m.Note(rounds+1, 1) // lets the last waiters go
	if err := m.Flush(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
	if index, _ := m.Durable(); index != rounds+1 {
		t.Errorf("durable up to %d, want %d", index, rounds+1)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A reader of a whole set sees it as of one moment, while members are moved about
// in it and flushed: it always has as many members, and the sum that they stand for.
func TestValueReadersDuringFlushes(t *testing.T) {
	m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 20_000, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := m.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	const members, rounds = 200, 1500
	apply := func(n int, ops ...turn.Op) {
		var cmds []codec.Command
		for _, op := range ops {
			b, err := codec.EncodeOp(op)
			if err != nil {
				t.Fatal(err)
			}
			cmds = append(cmds, codec.Command{Op: b})
		}
		m.Apply(uint64(n), 1, codec.AppendEntry(nil, int64(n), cmds))
	}
	first := setOf(sessionA)
	for i := range members {
		first.Fields = append(first.Fields, turn.Field{Name: fmt.Sprintf("%06d", i)})
	}
	apply(1, first)
	for range 2 {
		wg.Go(func() {
			for done := false; !done; {
				r, err := m.Query(&turn.AllFields{Key: sessionA, Type: turn.TypeSet})
				if err != nil || len(r.Elements) != members {
					t.Errorf("entry %d: %d members, %v; want %d", r.Index, len(r.Elements), err, members)
					return
				}
				for i, e := range r.Elements {
					if want := fmt.Sprintf("%06d", int(r.Index)-1+i); e.Name != want {
						t.Errorf("entry %d: member %d is %s, want %s", r.Index, i, e.Name, want)
						return
					}
				}
				last := fmt.Sprintf("%06d", int(r.Index)-2+members)
				one, err := m.Query(&turn.Fields{Key: sessionA, Type: turn.TypeSet, Names: []string{last}})
				if err != nil || one.Elements[0].Missing && one.Index < r.Index+members {
					t.Errorf("entry %d: member %s: %+v, %v", one.Index, last, one.Elements, err)
					return
				}
				done = r.Index == rounds
			}
		})
	}
	for n := 2; n <= rounds; n++ {
		apply(n, &turn.RemoveFields{Key: sessionA, Type: turn.TypeSet, Names: []string{fmt.Sprintf("%06d", n-2)}},
			setOf(sessionA, fmt.Sprintf("%06d", members+n-2)))
	}
	if err := m.Flush(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// A damaged dump must be refused whole, and leave the state as it was.
func TestDamagedDumpIsRefused(t *testing.T) {
	g := &generator{rnd: rand.New(rand.NewPCG(5, 5)), model: newModel()}
	r := newRig(t)
	for i := range 60 {
		g.step(r, int64(1_000_000+i))
	}
	dump := r.dump()
	damage := func(name string, b []byte) {
		if err := r.m.Restore(bytes.NewReader(b)); err == nil {
			t.Fatalf("%s: restored", name)
		}
		if r.m.Err() != nil {
			t.Fatalf("%s: the machine stopped: %v", name, r.m.Err())
		}
	}
	for n := 0; n < len(dump); n += 1 + len(dump)/97 {
		damage(fmt.Sprint("cut at ", n), dump[:n])
		b := bytes.Clone(dump)
		b[n] ^= 0x10
		damage(fmt.Sprint("bit flipped at ", n), b)
	}
	newer := bytes.Clone(dump)
	newer[len("TLSTATE")]++
	if err := r.m.Restore(bytes.NewReader(newer)); turn.KindOf(err) != turn.Newer ||
		!strings.Contains(err.Error(), "run the newer turnlog") {
		t.Errorf("a newer dump: %v", err)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "state.db.restore")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an unfinished restore was left behind: %v", err)
	}
	if !bytes.Equal(r.dump(), dump) {
		t.Error("refused restores changed the state")
	}
}

// A flipped bit in the state file is found when the head, block or element is read, and
// ends the machine rather than being answered with.
func TestFlippedBitIsFatal(t *testing.T) {
	for name, c := range map[string]struct {
		bucket []byte
		op     turn.Op
		read   turn.Query
		key    bool // the bit is in the key
	}{
		"head":      {layout.BucketHeads, appendOf(sessionA, "id", "hello"), &turn.Info{Key: sessionA}, false},
		"reference": {layout.BucketBlocks, appendOf(sessionA, "id", "hello"), &turn.Read{Key: sessionA}, false},
		"string": {layout.BucketElements, &turn.SetString{Key: sessionA, Value: []byte("hello")},
			&turn.GetString{Key: sessionA}, false},
		"element": {layout.BucketElements, setOf(sessionA, "a"),
			&turn.AllFields{Key: sessionA, Type: turn.TypeSet}, false},
		"member": {layout.BucketElements, setOf(sessionA, "a"),
			&turn.AllFields{Key: sessionA, Type: turn.TypeSet}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.apply(1, c.op)
			r.flush()
			r.apply(2, appendOf(turn.Key{Namespace: "0", Name: "b"}, "id", "not flushed"))
			if err := r.db().Update(func(tx *bbolt.Tx) error {
				b := tx.Bucket(c.bucket)
				k, v := b.Cursor().First()
				k, v = bytes.Clone(k), bytes.Clone(v)
				if err := b.Delete(k); err != nil {
					return err
				}
				if c.key {
					k[len(k)-1] ^= 1
				} else {
					v[len(v)-1] ^= 1
				}
				return b.Put(k, v)
			}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.m.Query(c.read); turn.KindOf(err) != turn.Corrupt {
				t.Fatalf("read: %v, want %v", err, turn.Corrupt)
			}
			select {
			case <-r.m.Fatal():
			default:
				t.Fatal("the machine goes on")
			}
			if out := r.m.Apply(r.index+1, 1, codec.AppendEntry(nil, 2, nil)); out != nil {
				t.Fatal("an entry was applied after a fatal error")
			}
			if err := r.m.Flush(t.Context()); err == nil {
				t.Fatal("a flush succeeded after a fatal error")
			}
		})
	}
}

func setOf(k turn.Key, members ...string) *turn.SetFields {
	o := &turn.SetFields{Key: k, Type: turn.TypeSet}
	for _, m := range members {
		o.Fields = append(o.Fields, turn.Field{Name: m})
	}
	return o
}

func TestEntryOfNewerVersionIsFatalAndChangesNothing(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	if out := r.m.Apply(2, 1, []byte{codec.EntryVersion + 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}); out != nil {
		t.Fatal("applied")
	}
	if turn.KindOf(r.m.Err()) != turn.Newer {
		t.Fatalf("error is %v", r.m.Err())
	}
	if index, _ := r.m.Applied(); index != 1 {
		t.Fatalf("applied index is %d, want 1", index)
	}
}
