package fsm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

func hiddenKey(name string) turn.Key { return turn.Key{Namespace: "0", Name: name} }

// fillHidden stores what hiddenReads and hiddenWrites are about, between other keys: so many
// that no bucket is part of the page of another.
func (r *rig) fillHidden() {
	r.t.Helper()
	for i := range 40 {
		k := hiddenKey(fmt.Sprintf("other%02d", i))
		gone := hiddenKey(fmt.Sprintf("gone other%02d", i))
		r.apply(1, setOf(k, string(bytes.Repeat([]byte{'m'}, 150))),
			&turn.Expire{Key: k, HasAt: true, At: int64(5000 + i)},
			appendOf(gone, "1", "hello"), &turn.Delete{Keys: []turn.Key{gone}})
	}
	for _, name := range []string{"1", "3", "5", "7"} {
		r.apply(1,
			setOf(hiddenKey("set"), name),
			&turn.SetFields{Key: hiddenKey("hash"), Type: turn.TypeHash,
				Fields: []turn.Field{{Name: name, Value: []byte(name)}}},
			&turn.SetScores{Key: hiddenKey("zset"), Members: []turn.Score{{Member: name, Score: float64(name[0])}}},
			&turn.AddEntry{Key: hiddenKey("stream"), ID: turn.EntryID{Time: 1, Seq: uint64(name[0])},
				Fields: []turn.Field{{Name: name}}},
			appendOf(hiddenKey("list"), name, "hello"),
			appendOf(hiddenKey("gone"), name, "hello"),
			&turn.SetString{Key: hiddenKey("string"), Value: []byte("hello")},
			&turn.SetString{Key: hiddenKey("expires"), Value: []byte("hello"), At: 100},
		)
	}
	r.apply(2, &turn.Delete{Keys: []turn.Key{hiddenKey("gone")}})
	r.flush()
	r.apply(3, setOf(hiddenKey("set"), "4"),
		&turn.RemoveFields{Key: hiddenKey("set"), Type: turn.TypeSet, Names: []string{"5"}})
	r.flush()
	r.restart()
}

func hiddenReads() (all []turn.Query) {
	for _, name := range []string{"set", "hash", "zset", "stream", "list", "gone", "string", "expires", "none"} {
		all = append(all, &turn.Info{Key: hiddenKey(name)})
	}
	for typ, key := range map[turn.Type]turn.Key{turn.TypeSet: hiddenKey("set"), turn.TypeHash: hiddenKey("hash"),
		turn.TypeZSet: hiddenKey("zset")} {
		for _, name := range []string{"0", "1", "2", "3", "5", "6", "7", "8"} {
			all = append(all, &turn.Fields{Key: key, Type: typ, Names: []string{name}})
		}
		all = append(all, &turn.AllFields{Key: key, Type: typ}, &turn.AllFields{Key: key, Type: typ, Limit: 1},
			&turn.AllFields{Key: key, Type: typ, Limit: 2}, &turn.AllFields{Key: key, Type: typ, Cursor: "2"})
	}
	low, high := turn.Bound{Score: '2', Name: "2"}, turn.Bound{Score: '6', Name: "6"}
	for _, by := range []turn.ScoresBy{turn.ByScore, turn.ByName} {
		for _, reverse := range []bool{false, true} {
			all = append(all, &turn.Scores{Key: hiddenKey("zset"), By: by, Min: low, Max: high, Reverse: reverse},
				&turn.Scores{Key: hiddenKey("zset"), By: by, Min: turn.Bound{Open: true}, Max: turn.Bound{Open: true},
					Reverse: reverse, Limit: 1})
		}
	}
	for _, reverse := range []bool{false, true} {
		all = append(all, &turn.Scores{Key: hiddenKey("zset"), By: turn.ByRank, Start: 1, Stop: 2, Reverse: reverse},
			&turn.Rank{Key: hiddenKey("zset"), Member: "3", Reverse: reverse},
			&turn.Entries{Key: hiddenKey("stream"), Max: turn.MaxEntryID(), Reverse: reverse},
			&turn.Entries{Key: hiddenKey("stream"), Max: turn.MaxEntryID(), Reverse: reverse, Limit: 1},
			&turn.Entries{Key: hiddenKey("stream"), Min: turn.EntryID{Time: 1, Seq: '2'},
				Max: turn.EntryID{Time: 1, Seq: '6'}, Reverse: reverse})
	}
	return append(all, &turn.GetString{Key: hiddenKey("string")}, &turn.GetString{Key: hiddenKey("none")},
		&turn.Sessions{Namespace: "0", List: true, Limit: 1000},
		&turn.Sessions{Namespace: "0", List: true, Limit: 2, Cursor: "list"},
		&turn.Sessions{Namespace: "0", List: true, Limit: 1000, Prefix: "s"},
		&turn.Sessions{Namespace: "0", List: true, Limit: 1000, Prefix: "str"})
}

func hiddenWrites() []turn.Op {
	set, hash, zset, stream, list := hiddenKey("set"), hiddenKey("hash"), hiddenKey("zset"), hiddenKey("stream"),
		hiddenKey("list")
	return []turn.Op{
		setOf(set, "1"), setOf(set, "3", "7"), setOf(set, "2"), setOf(hiddenKey("none"), "1"),
		&turn.RemoveFields{Key: set, Type: turn.TypeSet, Names: []string{"3", "7"}},
		&turn.AddToField{Key: hash, Name: "1", Delta: 1},
		&turn.RemoveFields{Key: hash, Type: turn.TypeHash, Names: []string{"7"}},
		&turn.SetScores{Key: zset, Increment: true, Members: []turn.Score{{Member: "3", Score: 1}}},
		&turn.RemoveFields{Key: zset, Type: turn.TypeZSet, Names: []string{"1", "7"}},
		&turn.RemoveEntries{Key: stream, IDs: []turn.EntryID{{Time: 1, Seq: '3'}}},
		&turn.TrimEntries{Key: stream, Trim: turn.StreamTrim{By: turn.ToLength, Length: 3}},
		&turn.TrimEntries{Key: stream, Trim: turn.StreamTrim{By: turn.BeforeID, ID: turn.EntryID{Time: 1, Seq: '4'}}},
		appendOf(list, "new", "hello"), appendOf(list, "3", "hello"), appendOf(hiddenKey("gone"), "3", "hello"),
		appendOf(hiddenKey("none"), "3", "hello"),
		&turn.Fork{Key: list, To: hiddenKey("none")}, &turn.Delete{Keys: []turn.Key{set, list, hiddenKey("string")}},
		&turn.SetNew{Keys: []turn.Key{hiddenKey("string")}, Values: [][]byte{{1}}},
		&turn.Erase{Namespace: "0", Prefix: "s", Limit: 100},
		steps(&turn.AllFields{Key: set, Type: turn.TypeSet, Limit: 1},
			&turn.Fields{Key: set, Type: turn.TypeSet, Names: []string{"3"}}),
	}
}

// A bit that flips in a key while the node runs never makes what is stored look absent: a read
// fails, or its answer is right.
func TestReadsMissNoPair(t *testing.T) {
	r, _ := repairable(t)
	r.fillHidden()
	r.m.cfg.OnDamage = func(error) {}
	queries := hiddenReads()
	var want []turn.Result
	for _, q := range queries {
		want = append(want, r.query(q))
	}
	noticed := 0
	for i, p := range append(r.hidden(layout.BucketHeads), r.hidden(layout.BucketElements)...) {
		for bit := i % 2; bit < 8*p.size; bit += someBits(2) {
			r.flip(p.at, bit)
			for i, q := range queries {
				if got, err := r.m.Query(q); err != nil {
					noticed++
					r.reset()
				} else if !reflect.DeepEqual(got, want[i]) {
					t.Errorf("bit %d of key %q of bucket %s: %T %+v answers\n%+v, not\n%+v", bit, p.key, p.bucket, q, q,
						got, want[i])
				}
			}
			r.flip(p.at, bit)
			if t.Failed() {
				return
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
}

// Nor does an entry take it for absent: it is applied right, or halts the machine. Otherwise
// nodes would come to different states.
func TestEntriesMissNoPair(t *testing.T) {
	r, _ := repairable(t)
	r.fillHidden()
	r.m.cfg.OnDamage = func(error) {}
	var keys []hiddenPair
	for _, bucket := range [][]byte{
		layout.BucketHeads, layout.BucketElements, layout.BucketTombstones, layout.BucketDue,
	} {
		keys = append(keys, r.hidden(bucket)...)
	}
	noticed := 0
	for i, op := range hiddenWrites() {
		want := r.tried(op)
		r.reset()
		for _, p := range keys {
			for bit := i % 4; bit < 8*p.size; bit += someBits(4) {
				r.flip(p.at, bit)
				got := r.tried(op)
				r.flip(p.at, bit)
				r.reset()
				if got == "" {
					noticed++
				} else if got != want {
					t.Fatalf("bit %d of key %q of bucket %s: %T %+v has the outcome\n%s, not\n%s", bit, p.key, p.bucket,
						op, op, got, want)
				}
			}
		}
	}
	if noticed == 0 {
		t.Error("no damage was noticed")
	}
}

// someBits is of how many bits one is tried.
func someBits(n int) int {
	if testing.Short() {
		return 4 * n
	}
	return n
}

// tried says what becomes of an operation, and of what expires before. It is empty if the machine
// halts. Then reset takes it back.
func (r *rig) tried(op turn.Op) string {
	r.t.Helper()
	n, index := len(r.log), r.index
	outs := r.apply(200, op)
	said := ""
	if _, halted := r.m.Damage(); !halted {
		b, err := json.Marshal(outs)
		if err != nil {
			r.t.Fatal(err)
		}
		said = fmt.Sprintf("%s, %d keys", b, r.m.keys.CountIn("0"))
	}
	r.log, r.index = r.log[:n], index
	return said
}

// reset gives the machine the state that is stored.
func (r *rig) reset() {
	r.t.Helper()
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.m.halted = false
	if err := r.m.load(); err != nil {
		r.t.Fatal(err)
	}
}

// hiddenPair is where a key is in the file of the store.
type hiddenPair struct {
	bucket []byte
	key    string
	at     int64
	size   int
}

// hidden returns where the keys of a bucket are, but for those of the others.
func (r *rig) hidden(bucket []byte) (all []hiddenPair) {
	r.t.Helper()
	tx, err := r.db().Begin(false)
	if err != nil {
		r.t.Fatal(err)
	}
	defer tx.Rollback()
	begin := r.db().Info().Data // of the mapped file
	c := tx.Bucket(bucket).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) < 100 && !bytes.Contains(k, []byte("other")) {
			all = append(all, hiddenPair{bucket, string(k), int64(uintptr(unsafe.Pointer(&k[0])) - begin), len(k)})
		}
	}
	if len(all) == 0 {
		r.t.Fatalf("bucket %s has no key", bucket)
	}
	return all
}

// An element that looks like garbage because its key is damaged is not removed: with it would go
// what tells of the damage.
func TestGarbageIsVerified(t *testing.T) {
	for _, at := range []int{1, 2} { // what is alive is before the garbage, or behind it
		r, told := repairable(t)
		for i := range 4 {
			r.apply(1, setOf(hiddenKey(fmt.Sprint(i)), "1"))
		}
		r.flush()
		from, v := r.pair(layout.BucketElements, 3-at)
		other, _ := r.pair(layout.BucketElements, at)
		to := append(bytes.Clone(other), byte('0'))
		if at == 2 {
			to = bytes.Clone(other[:layout.IncSize])
		}
		r.move(layout.BucketElements, from, to, v)
		r.apply(1, &turn.Delete{Keys: []turn.Key{hiddenKey(fmt.Sprint(at))}})
		_ = r.m.Flush(t.Context()) // fails if it collects garbage itself
		_, _ = r.m.tidy()
		if err, halted := r.m.Damage(); !halted || *told != 1 {
			t.Errorf("%d: damage %v, halted %t", at, err, halted)
		}
	}
}
