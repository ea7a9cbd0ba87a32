package fsm

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/turn"
)

var writeGolden = flag.Bool("write-golden", false, "write the golden dump again, for a new version of its format")

// variedRig has something in each bucket, and a value of each type.
func variedRig(t *testing.T) *rig {
	r := newRig(t)
	name := func(s string) turn.Key { return turn.Key{Namespace: "0", Name: s} }
	r.apply(1_000, appendOf(sessionA, "id1", "hello"), appendOf(sessionA, "id2", "wörld"),
		appendOf(sessionA, "", "no id"),
		&turn.Append{Key: sessionA, Side: turn.Head,
			Messages: []turn.NewMessage{{ID: "id3", Data: []byte("in front")}}},
		&turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v", "l": ""}},
		&turn.SetString{Key: name("string"), Value: []byte("value")},
		setOf(name("set"), "a", "b"),
		&turn.SetFields{Key: name("hash"), Type: turn.TypeHash,
			Fields: []turn.Field{{Name: "f", Value: []byte("1")}, {Name: "g", Value: []byte{0, 255}}}},
		&turn.SetScores{Key: name("zset"), Members: []turn.Score{{Member: "m", Score: -1.5}, {Member: "n", Score: 2}}},
		&turn.AddEntry{Key: name("stream"), Make: turn.IDMade,
			Fields: []turn.Field{{Name: "data", Value: []byte("x")}}})
	r.apply(2_000, appendOf(name("removed"), "id1", "to be removed"),
		&turn.Pop{Key: sessionA, From: turn.Tail, Count: 1},
		&turn.Expire{Key: name("string"), HasTTL: true, TTL: 60_000},
		&turn.Append{Key: turn.Key{Namespace: "other", Name: "\x00\xff"}, TTL: 1_000,
			Messages: []turn.NewMessage{{Data: bytes.Repeat([]byte("long "), 4_000)}}})
	r.apply(2_001, &turn.Delete{Keys: []turn.Key{name("removed"), name("set")}})
	r.flushWarm()
	return r
}

// A dump that an older version wrote is the state that it was of, and this version
// writes it the same: nodes of both send each other theirs.
func TestGoldenDump(t *testing.T) {
	r := variedRig(t)
	path := filepath.Join("testdata", "dump-v1")
	if *writeGolden {
		if err := os.WriteFile(path, r.dump(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	restored := newRig(t)
	if err := restored.m.Restore(bytes.NewReader(golden)); err != nil {
		t.Fatal(err)
	}
	restored.index = r.index
	if got, want := storeHash(t, restored.m), storeHash(t, r.m); got != want {
		t.Errorf("it is another state: %s, want %s", got, want)
	}
	if !bytes.Equal(restored.dump(), golden) {
		t.Error("dumped again, it is different")
	}
	for i, bucket := range layout.Buckets() {
		if k, _ := restored.pair(bucket, 0); k == nil {
			t.Errorf("there is nothing in bucket %d, %s", i, bucket)
		}
	}
}
