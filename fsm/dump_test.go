package fsm

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/turnlog/turnlog/fsm/statedump"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// A dump is the state after one entry, whole, although entries are applied and
// flushed while it is written out. A machine that is restored from it is in that
// state, dumps the same bytes, and with the rest of the log ends like all others.
func TestDumpIsACut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(11, 11))
	g := &generator{rnd: rnd, model: newModel()}
	r := newRig(t)
	stamp := int64(1_000_000)
	step := func() {
		stamp += int64(rnd.IntN(300))
		g.step(r, stamp)
	}
	for range 6 {
		for range 1 + rnd.IntN(30) {
			step()
		}
		if rnd.IntN(2) == 0 {
			r.flushWarm() // else the dump is of an older state
		}
		d, err := r.m.Dump()
		if err != nil {
			t.Fatal(err)
		}
		w := &slowWriter{between: func() {
			if step(); rnd.IntN(2) == 0 {
				r.flush()
			}
		}}
		if _, err := d.WriteTo(w); err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if int64(w.Len()) != d.Size {
			t.Fatalf("the dump has %d bytes, %d were announced", w.Len(), d.Size)
		}
		dump := w.Bytes()
		cut, restored := newRig(t), newRig(t)
		cut.applyLog(r.log[:d.Index])
		if err := restored.m.Restore(bytes.NewReader(dump)); err != nil {
			t.Fatal(err)
		}
		restored.index, restored.log = d.Index, r.log[:d.Index:d.Index]
		if again := restored.dump(); !bytes.Equal(again, dump) {
			t.Fatalf("entry %d: the dump of a restored machine differs from the one that it was restored from", d.Index)
		}
		if got, want := restored.fork(t).hash(), cut.fork(t).hash(); got != want {
			t.Fatalf("entry %d: hash %s after a restore, %s without", d.Index, got, want)
		}
		for _, other := range []*rig{cut, restored} {
			other.applyLog(r.log[d.Index:])
			if got, want := other.fork(t).hash(), r.fork(t).hash(); got != want {
				t.Fatalf("dumped at entry %d, entry %d: hash %s, want %s", d.Index, r.index, got, want)
			}
		}
	}
}

// fork returns a rig in the same state, which may be changed.
func (r *rig) fork(t *testing.T) *rig {
	t.Helper()
	f := newRig(t)
	if err := f.m.Restore(bytes.NewReader(r.dump())); err != nil {
		t.Fatal(err)
	}
	f.index = r.index
	return f
}

// slowWriter has something happen between some of its writes.
type slowWriter struct {
	bytes.Buffer
	between func()
	writes  int
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if w.writes++; w.writes%2 == 0 && w.writes < 20 {
		w.between()
	}
	return w.Buffer.Write(b)
}

// A machine that gets a dump in the place of the entry that asked for a hash has none
// as of that entry, and never will: a client that compares nodes has to ask again.
func TestHashPassedByARestore(t *testing.T) {
	r, other := newRig(t), newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	r.hash()
	if err := other.m.Restore(bytes.NewReader(r.dump())); err != nil {
		t.Fatal(err)
	}
	other.applyLog(r.log) // which it includes
	other.flush()
	if index, sum := other.m.StateHash(); index != 0 || sum != "" {
		t.Fatalf("the restored machine has the hash %s as of entry %d", sum, index)
	}
	if got, want := other.hash(), r.hash(); got != want {
		t.Errorf("asked again, it has the hash %s, the other one has %s", got, want)
	}
}

// A state that was to be hashed, and was replaced by another node's before, is not hashed:
// who asked is told so, and does not wait for good.
func TestHashOfAReplacedStateIsNotAwaited(t *testing.T) {
	r, other := newRig(t), newRig(t)
	for _, r := range []*rig{r, other} {
		r.apply(1, appendOf(sessionA, "id", "hello"))
		r.apply(0, &codec.Checksum{})
	}
	if !r.m.HashAwaited(r.index) {
		t.Fatal("no hash is on the way")
	}
	r.m.Halt(turn.Errorf(turn.Corrupt, "a bit was flipped"))
	if err := r.m.Restore(bytes.NewReader(other.dump())); err != nil {
		t.Fatal(err)
	}
	if index, _ := r.m.StateHash(); index == r.index || r.m.HashAwaited(r.index) {
		t.Errorf("a hash as of entry %d is awaited", r.index)
	}
}

// What a dump announces costs no memory: only what has come does.
func TestAnnouncedChunkCostsNoMemory(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	dump := r.dump()[:8]
	dump = binary.LittleEndian.AppendUint32(dump, 1<<30)
	dump = append(dump, make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := statedump.Inspect(bytes.NewReader(dump))
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !turn.Is(err, turn.Corrupt) || took > 4<<20 {
		t.Errorf("a dump of %d bytes takes %d bytes of memory: %v", len(dump), took, err)
	}
}
