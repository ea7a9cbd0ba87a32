package codec

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

var update = flag.Bool("update", false, "write the golden file again")

// golden is an entry that holds each operation of Level0 once, with every field set.
func golden(t *testing.T) []byte {
	rev, k := uint64(7), turn.Key{Namespace: "team", Name: "chat/1"}
	ms := []turn.NewMessage{{ID: "m1", Data: []byte(`{"role":"user"}`)}, {Data: []byte{0, 255}}}
	return goldenEntry(t, []turn.Op{
		&turn.Append{Key: k, Messages: ms, Expect: &rev, TTL: 60_000, Side: turn.Head, OnlyExisting: true},
		&turn.Pop{Key: k, From: turn.Newest, Count: 3, Expect: &rev, List: true},
		&turn.Trim{Key: k, By: turn.ListRange, N: 5, Start: -20, Stop: -1, Expect: &rev},
		&turn.Replace{Key: k, From: 9, Messages: ms, Expect: &rev},
		&turn.Clear{Key: k, Expect: &rev},
		&turn.Delete{Keys: []turn.Key{k, {Namespace: "0", Name: "b"}}, List: true},
		&turn.Expire{Key: k, TTL: -5, At: 1 << 40, HasTTL: true, HasAt: true, Slide: true, If: turn.IfSomeSooner,
			Expect: &rev, List: true},
		&turn.Fork{Key: k, To: turn.Key{Namespace: "team", Name: "chat/2"}, At: 4, Expect: &rev},
		&turn.SetMetadata{Key: k, Set: map[string]string{"title": "hello", "a": ""}, Unset: []string{"x"},
			Expect: &rev},
		&turn.Erase{Namespace: "team", Prefix: "chat/", Cursor: "chat/1", Limit: 100},
		&Tick{}, &Epoch{ClusterID: "c0ffee"},
		&Member{ID: "n1", Incarnation: "aa", RESPAddr: "h:1", HTTPAddr: "h:2", Remove: true},
		&Checksum{},
		&turn.SetString{Key: k, Value: []byte("v"), If: turn.SetIfPresent, Get: true, KeepTTL: true, TTL: 5,
			At: 1 << 40},
		&turn.AddInt{Key: k, Delta: -3},
		&turn.SetFields{Key: k, Type: turn.TypeHash, Fields: []turn.Field{{Name: "f", Value: []byte("v")}, {}},
			OnlyNew: true},
		&turn.RemoveFields{Key: k, Type: turn.TypeZSet, Names: []string{"f", ""}},
		&turn.AddToField{Key: k, Name: "f", Delta: 1 << 40},
		&turn.SetScores{
			Key: k, Members: []turn.Score{{Member: "m", Score: -1.5}, {Member: "n", Score: math.Inf(1)}},
			OnlyNew: true, OnlyExisting: true, OnlyGreater: true, OnlyLess: true, Changed: true, Increment: true,
		},
		&turn.AddEntry{
			Key: k, ID: turn.EntryID{Time: 5, Seq: 1}, Make: turn.IDSeqMade,
			Fields:       []turn.Field{{Name: "f", Value: []byte("v")}},
			Trim:         turn.StreamTrim{By: turn.BeforeID, Length: 3, ID: turn.EntryID{Time: 4, Seq: 2}, Limit: 9},
			OnlyExisting: true,
		},
		&turn.TrimEntries{Key: k, Trim: turn.StreamTrim{By: turn.ToLength, Length: 3}},
		&turn.RemoveEntries{Key: k, IDs: []turn.EntryID{{Time: 5, Seq: 1}, {}}},
		&turn.SetElement{Key: k, Index: -2, Data: []byte("v")},
		&turn.InsertElement{Key: k, Pivot: []byte("p"), After: true, Data: []byte("v")},
		&turn.RemoveElements{Key: k, Count: -2, Data: []byte("v")},
		&turn.Tx{
			Watch: []turn.Watched{{Key: k, Revision: 7}},
			Steps: []turn.Step{{Op: &turn.AddInt{Key: k, Delta: 1}}, {Query: &turn.GetString{Key: k}}},
		},
		&turn.PopFirst{Keys: []turn.Key{k, {Namespace: "team", Name: "b"}}, From: turn.Head, Count: 2},
		&turn.MoveElement{Key: k, To: turn.Key{Namespace: "team", Name: "b"}, From: turn.Head, On: turn.Head},
		&turn.PushOnce{Key: k, Messages: ms, Side: turn.Head, OnlyExisting: true},
		&turn.SetNew{Keys: []turn.Key{k, {Namespace: "team", Name: "b"}}, Values: [][]byte{[]byte("v"), {}}},
	})
}

// goldenLevel1 is an entry with what Level1 added.
func goldenLevel1(t *testing.T) []byte {
	return goldenEntry(t, []turn.Op{
		&SetLevel{Level: 300},
	})
}

// goldenLevel2 is an entry with what Level2 added.
func goldenLevel2(t *testing.T) []byte {
	rev, k := uint64(7), turn.Key{Namespace: "team", Name: "a"}
	return goldenEntry(t, []turn.Op{
		&turn.Tx{
			Steps:      []turn.Step{{Op: &turn.Clear{Key: k}}, {Op: &turn.Delete{Keys: []turn.Key{k}}}},
			All:        true,
			Conditions: []turn.Condition{{Key: k, Is: turn.AtSeq, N: 300}, {Key: k, Is: turn.Present}},
			ID:         "t1",
		},
		&turn.Tx{Steps: []turn.Step{{Op: &turn.Clear{Key: k}}}, All: true},
		&turn.Append{Key: k, Messages: []turn.NewMessage{{ID: "1", Data: []byte("x")}}, MustExist: true,
			Set: map[string]string{"b": "2", "a": "1"}, Unset: []string{"c"}},
		&turn.RemoveScores{Of: turn.Scores{Key: k, By: turn.ByScore, Start: -3, Stop: 4, Min: turn.Bound{Score: -1.5},
			Max: turn.Bound{Name: "m", Exclusive: true, Open: true}, Reverse: true, Offset: 2, Limit: 5}, Answer: true},
		&turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, TTL: 5, KeepValue: true},
		&turn.EditMessage{Key: k, Message: turn.MessageRef{Seq: 300, ID: "m1"}, Data: []byte("x"), Expect: &rev},
		&turn.RemoveMessage{Key: k, Message: turn.MessageRef{Seq: 300, ID: "m1"}, Expect: &rev},
		&Member{ID: "n1", Incarnation: "aa", RESPAddr: "h:1", HTTPAddr: "h:2", Learner: true},
		&turn.Retain{Key: k, Keep: turn.Retention{Messages: 300, Turns: 5}, Expect: &rev},
		&turn.Rename{Key: k, To: turn.Key{Namespace: "team", Name: "b"}, Replace: true, Expect: &rev, List: true},
	})
}

// goldenLevel3 is an entry with what Level3 added.
func goldenLevel3(t *testing.T) []byte {
	k, b := turn.Key{Namespace: "team", Name: "a"}, turn.Key{Namespace: "team", Name: "b"}
	return goldenEntry(t, []turn.Op{
		&turn.StoreSets{To: k, Of: turn.CombineSets{Keys: []turn.Key{k, b}, By: turn.Difference}},
		&turn.Tx{Steps: []turn.Step{
			{Query: &turn.CombineSets{Keys: []turn.Key{k, b}, By: turn.Union, OnlyCount: true, Limit: 300}},
			{Query: &turn.Lookup{Keys: []turn.Key{k, b}, Strings: true}},
		}},
		&turn.Tx{All: true, Steps: []turn.Step{{Op: &turn.Pop{Key: turn.Key{Namespace: "team", Name: "a"}, Count: 1}}}},
	})
}

func goldenEntry(t *testing.T, ops []turn.Op) []byte {
	t.Helper()
	var cmds []Command
	for i, op := range ops {
		b, err := EncodeOp(op)
		if err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, Command{Origin: 1 << 60, Number: uint64(i), Op: b})
	}
	return AppendEntry(nil, 1_700_000_000_000, cmds)
}

// TestGoldenEntry holds the layout of log entries still: logs written by
// released versions must stay readable, and what they say must stay the same.
func TestGoldenEntry(t *testing.T) {
	holdStill(t, "entry-v1.hex", golden(t))
	holdStill(t, "entry-level1.hex", goldenLevel1(t))
	holdStill(t, "entry-level2.hex", goldenLevel2(t))
	holdStill(t, "entry-level3.hex", goldenLevel3(t))
}

func holdStill(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(lines(hex.EncodeToString(got))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := readHex(t, path)
	if !bytes.Equal(got, want) {
		t.Fatalf("the entry is encoded differently now:\n got %x\nwant %x", got, want)
	}
	e, err := DecodeEntry(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range e.Commands {
		op, err := DecodeOp(c.Op)
		if err != nil {
			t.Fatalf("command %d: %v", c.Number, err)
		}
		again, err := EncodeOp(op)
		if err != nil || !bytes.Equal(again, c.Op) {
			t.Fatalf("command %d: %+v is encoded as %x, want %x", c.Number, op, again, c.Op)
		}
	}
}

// The file holds a command that a later version of turnlog might write: Clear
// with a field that this one does not know.
func TestGoldenEntryOfNewerVersion(t *testing.T) {
	e, err := DecodeEntry(readHex(t, filepath.Join("testdata", "entry-newer-field.hex")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeOp(e.Commands[0].Op); turn.KindOf(err) != turn.Newer {
		t.Fatalf("got %v, want %v", err, turn.Newer)
	}
}

func readHex(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func lines(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		n := min(len(s), 80)
		fmt.Fprintln(&b, s[:n])
		s = s[n:]
	}
	return b.String()
}
