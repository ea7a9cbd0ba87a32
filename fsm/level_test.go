package fsm

import (
	"bytes"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// raise brings the machine to a level.
func (r *rig) raise(level turn.ClusterLevel) {
	r.t.Helper()
	if out := r.apply(0, &codec.SetLevel{Level: level}); out[0].Err != nil {
		r.t.Fatal(out[0].Err)
	}
}

// The level is part of the state: a restart, with and without a flush, and a dump keep
// it, and the state hash tells it. It does not fall.
func TestLevelIsPartOfTheState(t *testing.T) {
	r := newRig(t)
	want := func(level turn.ClusterLevel, when string) {
		t.Helper()
		if got := r.m.Level(); got != level || r.m.keys.Meta.Level != level {
			t.Errorf("%s, the level is %d, want %d", when, got, level)
		}
	}
	want(turn.Level0, "at first")
	before := storeHash(t, r.m)
	r.raise(turn.Level1)
	want(turn.Level1, "raised")
	r.restart()
	want(turn.Level1, "after a restart from the log")
	r.raise(turn.Level0)
	want(turn.Level1, "after an order to lower it")
	r.flush()
	if storeHash(t, r.m) == before {
		t.Error("the state hash does not tell the level")
	}
	r.log = nil // all is in the store
	r.restart()
	want(turn.Level1, "after a restart from the store")
	dump, other := r.dump(), newRig(t)
	if err := other.m.Restore(bytes.NewReader(dump)); err != nil {
		t.Fatal(err)
	}
	other.index = r.index
	if got := other.m.Level(); got != turn.Level1 {
		t.Errorf("restored from a dump, the level is %d", got)
	}
	if !bytes.Equal(other.dump(), dump) {
		t.Error("dumped again, it is different")
	}
}

// The bytes of a state description are the same in all versions: nodes compare the hashes of
// their states.
func TestFormOfTheStateDescription(t *testing.T) {
	r := newRig(t)
	r.apply(1_000, &codec.Epoch{ClusterID: "c"},
		&codec.Member{ID: "n1", Incarnation: "i", RESPAddr: "r", HTTPAddr: "h"})
	r.raise(turn.Level1)
	r.flush()
	want := []byte("\x01" + "\x02\x01\xe8\x07\x00\x00\x01" + "\x00" + "\x01c" + "\x01" + "\x02n1\x01i\x01r\x01h")
	if _, v := r.pair(layout.BucketMeta, 0); !bytes.Equal(v[layout.SealSize:], want) {
		t.Errorf("the state description is %q, want %q", v[layout.SealSize:], want)
	}
}

// A level that this version does not know ends the machine, and a state of such a
// level is not opened, with the same advice.
func TestUnknownLevel(t *testing.T) {
	r := newRig(t)
	b, err := codec.EncodeOp(&codec.SetLevel{Level: turn.NewestLevel + 1})
	if err != nil {
		t.Fatal(err)
	}
	r.m.Apply(1, 1, codec.AppendEntry(nil, 0, []codec.Command{{Op: b}}))
	if err := r.m.Err(); turn.KindOf(err) != turn.Newer {
		t.Errorf("the machine goes on: %v", err)
	}
	m := layout.Meta{Level: turn.NewestLevel + 1}
	if _, err := layout.DecodeMeta(m.Encode()); turn.KindOf(err) != turn.Newer {
		t.Errorf("the state is read: %v", err)
	}
	m.Level = turn.NewestLevel
	if _, err := layout.DecodeMeta(m.Encode()); err != nil {
		t.Error(err)
	}
	for n := range m.Encode() {
		if _, err := layout.DecodeMeta(m.Encode()[:n]); err == nil {
			t.Errorf("its first %d bytes are taken for the whole", n)
		}
	}
}
