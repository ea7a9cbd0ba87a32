package fsm

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

// addEntries adds entries with ids 1-from … 1-to.
func (r *rig) addEntries(from, to uint64) {
	var ops []turn.Op
	for seq := from; seq <= to; seq++ {
		ops = append(ops, addEntryOf(seq, turn.StreamTrim{}))
	}
	for chunk := range slices.Chunk(ops, 500) {
		r.apply(1, chunk...)
	}
}

// StoredElements counts the elements that the store holds.
func (r *rig) storedElements() (n int) {
	r.t.Helper()
	tx, err := r.db().Begin(false)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	return tx.Bucket(layout.BucketElements).Stats().KeyN
}

// A trim of many entries takes memory for none of them: they are dead because of where
// they are, and go from the store gradually.
func TestTrimOfManyEntriesTakesNoMemory(t *testing.T) {
	const n, kept = 30_000, 100
	for name, trim := range map[string]turn.StreamTrim{
		"most by length": {By: turn.ToLength, Length: kept},
		"a part":         {By: turn.ToLength, Length: kept, Limit: n - kept},
		"by id":          {By: turn.BeforeID, ID: turn.EntryID{Time: 1, Seq: n - kept + 1}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.addEntries(1, n)
			r.flush()
			before := r.m.keys.Tables.Active.Bytes
			if got := r.do(&turn.TrimEntries{Key: streamS, Trim: trim}); got.Removed != n-kept || got.Count != kept {
				t.Fatalf("%d were removed, %d are left", got.Removed, got.Count)
			}
			if grown := r.m.keys.Tables.Active.Bytes - before; grown > 2000 {
				t.Errorf("the memtable grew by %d bytes", grown)
			}
			r.flush()
			hash := storeHash(t, r.m)
			dump := r.dump()
			for more := true; more; {
				var err error
				if more, err = r.m.tidy(); err != nil {
					t.Fatal(err)
				}
			}
			if got := r.storedElements(); got != kept {
				t.Errorf("the store holds %d elements", got)
			}
			r.expectEmpty(layout.BucketGarbage)
			if storeHash(t, r.m) != hash {
				t.Error("the state hash tells what the collector did")
			}
			if err := r.m.Restore(bytes.NewReader(dump)); err != nil {
				t.Fatal(err)
			}
			if storeHash(t, r.m) != hash {
				t.Error("the state hash tells that nothing was collected in the dump")
			}
			if got := r.query(&turn.Entries{Key: streamS, Max: turn.MaxEntryID()}); len(got.Entries) != kept {
				t.Errorf("%d entries are left in the dump", len(got.Entries))
			}
		})
	}
}

// Whether entries are removed one by one or by the floor shows in no answer.
func TestTrimmedStreamsAnswerAlike(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig, move func()) {
		old := newRig(t) // stays at level 0
		rnd, next := rand.New(rand.NewPCG(1, 2)), uint64(1)
		for round := range 30 {
			to := next + rnd.Uint64N(900)
			r.addEntries(next, to)
			old.addEntries(next, to)
			next = to + 1
			if round%3 == 0 {
				move()
			}
			trim := turn.StreamTrim{By: turn.ToLength, Length: rnd.Uint64N(1200), Limit: rnd.Uint64N(3) * 400}
			if round%3 == 1 {
				trim = turn.StreamTrim{By: turn.BeforeID, ID: turn.EntryID{Time: 1, Seq: rnd.Uint64N(next)}}
			}
			some := &turn.RemoveEntries{Key: streamS}
			for range 50 {
				some.IDs = append(some.IDs, turn.EntryID{Time: 1, Seq: 1 + rnd.Uint64N(next-1)})
			}
			for _, op := range []turn.Op{some, &turn.TrimEntries{Key: streamS, Trim: trim},
				addEntryOf(next, trim), some} {
				if a, b := r.do(op), old.do(op); a.Removed != b.Removed || a.Count != b.Count {
					t.Fatalf("%T %+v: %d removed, %d left, want %d and %d", op, trim, a.Removed, a.Count,
						b.Removed, b.Count)
				}
			}
			next++
			if round%4 == 0 {
				move()
			}
			low, high := turn.EntryID{Time: 1, Seq: rnd.Uint64N(next)}, turn.MaxEntryID()
			for _, q := range []*turn.Entries{{Key: streamS, Max: high}, {Key: streamS, Max: high, Reverse: true},
				{Key: streamS, Min: low, Max: high, Limit: 7},
				{Key: streamS, Max: low, Reverse: true, Limit: 7}} {
				a, b := r.query(q), old.query(q)
				if !slices.EqualFunc(a.Entries, b.Entries, func(x, y turn.Entry) bool { return x.ID == y.ID }) ||
					a.More != b.More {
					t.Fatalf("%+v: %d entries, want %d", q, len(a.Entries), len(b.Entries))
				}
				if a.Session.Bytes != b.Session.Bytes {
					t.Fatalf("%d bytes, want %d", a.Session.Bytes, b.Session.Bytes)
				}
			}
		}
	})
}

// BenchmarkTrimMany trims a stream of 50,000 entries in the store to 100.
func BenchmarkTrimMany(b *testing.B) {
	m := benchValues(b)
	index, seq := uint64(0), uint64(0)
	for b.Loop() {
		b.StopTimer()
		for range 50_000 {
			index, seq = index+1, seq+1
			m.Apply(index, 1, encodeEntryOf(b, addEntryOf(seq, turn.StreamTrim{})))
		}
		if err := m.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		index++
		e := encodeEntryOf(b, &turn.TrimEntries{Key: streamS, Trim: turn.StreamTrim{By: turn.ToLength, Length: 100}})
		b.StartTimer()
		if out := m.Apply(index, 1, e); out[0].Err != nil {
			b.Fatal(out[0].Err)
		}
	}
}
