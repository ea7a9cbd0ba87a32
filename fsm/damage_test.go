package fsm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// rot flips a bit in the block at a place of the bucket, in its file, and returns a
// function that flips it back.
func (r *rig) rot(n int) (undo func()) {
	r.t.Helper()
	k, v := r.pair(layout.BucketBlocks, n)
	ref, err := layout.DecodeRef(k, v)
	if err != nil {
		r.t.Fatalf("block %x = %x: %v", k, v, err)
	}
	flip := func() {
		path := filepath.Join(r.dir, "blocks", fmt.Sprintf("%016d.blk", ref.File))
		flipBit(r.t, path, ref.Offset+ref.Size()-1, 0)
	}
	flip()
	return flip
}

func flipBit(t testing.TB, path string, at int64, bit int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// Damaged bytes stay where they are: they are not sent, not accepted, and not copied.
func TestDamageDoesNotSpread(t *testing.T) {
	t.Run("dump of a block", func(t *testing.T) {
		r := newRig(t)
		r.apply(1, appendOf(sessionA, "id", "hello"))
		r.flush()
		r.rot(0)
		d, err := r.m.Dump()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if _, err := d.WriteTo(new(bytes.Buffer)); turn.KindOf(err) != turn.Corrupt {
			t.Errorf("a dump with a damaged block ends with %v", err)
		}
		if known, _ := r.m.Damage(); known == nil {
			t.Error("the machine does not know of the damage")
		}
		if second, err := r.m.Dump(); err == nil {
			second.Close() // or the store's end would wait for it
			t.Error("a machine that knows of damage begins a dump")
		}
	})
	t.Run("dump of an element", func(t *testing.T) {
		r := newRig(t)
		r.apply(1, setOf(sessionA, "a"))
		r.flush()
		k, v := r.pair(layout.BucketElements, 0)
		v[len(v)-1] ^= 1
		r.move(layout.BucketElements, k, k, v)
		d, err := r.m.Dump()
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if _, err := d.WriteTo(new(bytes.Buffer)); turn.KindOf(err) != turn.Corrupt {
			t.Errorf("a dump with a damaged element ends with %v", err)
		}
	})
	for name, op := range map[string]turn.Op{"restore of a block": appendOf(sessionA, "id", "hello"),
		"restore of an element": setOf(sessionA, "hello")} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.apply(1, op)
			r.flush()
			rotten := rewriteDump(t, r.dump(), func(bucket, k, v []byte) {
				if at := bytes.Index(append(slices.Clone(k), v...), []byte("hello")); at >= len(k) {
					v[at-len(k)] ^= 1
				} else if at >= 0 {
					k[at] ^= 1
				}
			})
			other := newRig(t)
			if err := other.m.Restore(bytes.NewReader(rotten)); turn.KindOf(err) != turn.Corrupt {
				t.Errorf("a dump whose content was damaged before it was made is restored: %v", err)
			}
			if index, _ := other.m.Applied(); index != 0 {
				t.Errorf("the state is as of entry %d", index)
			}
		})
	}
	t.Run("emptying a file", func(t *testing.T) {
		r := newRig(t)
		r.apply(1, appendOf(sessionA, "id", "hello"))
		r.flush()
		r.rot(0)
		k, v := r.pair(layout.BucketBlocks, 0)
		ref, _ := layout.DecodeRef(k, v)
		err := r.m.store.Update(func(u *store.Update) error { return u.Empty(ref.File) })
		if turn.KindOf(err) != turn.Corrupt {
			t.Errorf("a damaged block is moved: %v", err)
		}
	})
}

// rewriteDump makes a dump with other pairs, of the same length, and right checksums around them.
func rewriteDump(t *testing.T, dump []byte, change func(bucket, k, v []byte)) []byte {
	t.Helper()
	table := crc32.MakeTable(crc32.Castagnoli)
	out := bytes.Clone(dump)
	const magic, header = 8, 8
	crc := crc32.Checksum(out[:magic], table)
	for rest := out[magic:]; len(rest) > 0; {
		n := int(binary.LittleEndian.Uint32(rest))
		chunk := rest[header : header+n]
		for pairs := layout.NewReader(chunk); pairs.More(); {
			bucket := layout.Buckets()[pairs.Next(1)[0]]
			kn, vn := pairs.Count(), pairs.Count()
			change(bucket, pairs.Next(kn), pairs.Next(vn))
		}
		if n == 0 {
			crc = crc32.Update(crc, table, rest[:4])
		}
		crc = crc32.Update(crc, table, chunk)
		binary.LittleEndian.PutUint32(rest[4:], crc)
		rest = rest[header+n:]
	}
	return out
}

// A damaged block fails what asks for it, and nothing else.
func TestDamagedBlockFailsItsReads(t *testing.T) {
	r := newRig(t)
	b := turn.Key{Namespace: "0", Name: "b"}
	r.apply(1, appendOf(sessionA, "id", "hello"), appendOf(b, "id", "hello"))
	r.flush()
	undo := r.rot(0)
	for range 2 {
		if _, err := r.m.Query(&turn.Read{Key: sessionA}); turn.KindOf(err) != turn.Corrupt {
			t.Errorf("the damaged session: %v", err)
		}
	}
	if got := r.query(&turn.Read{Key: b}); len(got.Messages) != 1 {
		t.Errorf("the other session has %d messages", len(got.Messages))
	}
	r.apply(2, appendOf(b, "id2", "more"))
	r.flush()
	if got := r.query(&turn.Read{Key: b}); len(got.Messages) != 2 {
		t.Errorf("the other session has %d messages", len(got.Messages))
	}
	undo()
}

// The scrub reads the block files, too.
func TestScrubFindsADamagedBlock(t *testing.T) {
	r := newRig(t)
	for i := range 20 {
		r.apply(1, appendOf(turn.Key{Namespace: "0", Name: fmt.Sprint(i)}, "id", strings.Repeat("x", 3000)))
	}
	r.flush()
	if err := r.m.scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.rot(13)
	if err := r.m.scrub(t.Context()); turn.KindOf(err) != turn.Corrupt {
		t.Fatalf("the scrub says %v", err)
	}
	if known, halted := r.m.Damage(); known == nil || halted {
		t.Errorf("the machine knows of %v, halted %v", known, halted)
	}
}

// repairable is a rig whose machine is told that damage will be repaired.
func repairable(t *testing.T) (r *rig, told *int) {
	r, told = newRig(t), new(int)
	r.m.cfg.OnDamage = func(error) { *told++ }
	return r, told
}

// What an entry or a flush needs and finds damaged halts the machine: it answers and
// applies nothing until it has the state of another, and goes on from there.
func TestDamageHaltsUntilTheStateIsReplaced(t *testing.T) {
	for name, use := range map[string]func(*rig){
		"entry": func(r *rig) {
			r.apply(3, &turn.Pop{Key: sessionA, From: turn.Head, Count: 1})
		},
		"flush": func(r *rig) {
			r.apply(3, appendOf(sessionA, "id3", "more"))
			if err := r.m.Flush(t.Context()); !errors.Is(err, ErrHalted) {
				t.Errorf("flush: %v", err)
			}
		},
		"state.db": func(r *rig) {
			k, v := r.pair(layout.BucketHeads, 0)
			v[len(v)-1] ^= 1
			r.move(layout.BucketHeads, k, k, v)
			if err := r.m.scrub(t.Context()); turn.KindOf(err) != turn.Corrupt {
				t.Errorf("scrub: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, told := repairable(t)
			r.apply(1, appendOf(sessionA, "id", "hello"),
				&turn.SetMetadata{Key: sessionA, Set: map[string]string{"k": "v"}})
			r.apply(2, appendOf(sessionA, "id2", "hello"))
			r.flush()
			peer := r.fork(t)
			r.rot(0)
			use(r)
			if known, halted := r.m.Damage(); known == nil || !halted || *told != 1 {
				t.Fatalf("damage %v, halted %v, told %d times", known, halted, *told)
			}
			if r.m.Err() != nil {
				t.Fatalf("the machine ended: %v", r.m.Err())
			}
			before, _ := r.m.Applied()
			if _, err := r.m.Query(&turn.Read{Key: sessionA}); turn.KindOf(err) != turn.Unavailable {
				t.Errorf("a halted machine answers: %v", err)
			}
			if out := r.m.Apply(before+1, 1, codec.AppendEntry(nil, 9, nil)); out != nil {
				t.Error("a halted machine applies entries")
			}
			if r.m.Resume() {
				t.Error("it goes on without a new state")
			}
			for peer.index < before {
				peer.apply(3, appendOf(sessionA, fmt.Sprint("more", peer.index), "more"))
			}
			peer.flush()
			if err := r.m.Restore(bytes.NewReader(peer.dump())); err != nil {
				t.Fatal(err)
			}
			if _, halted := r.m.Damage(); !halted || !r.m.Resume() {
				t.Fatal("it does not wait to be resumed, or does not resume")
			}
			if got, want := storeHash(t, r.m), storeHash(t, peer.m); got != want {
				t.Error("it is another state")
			}
			if err := r.m.scrub(t.Context()); err != nil {
				t.Errorf("after the repair: %v", err)
			}
		})
	}
}

// A state that is older than what was applied is not taken.
func TestOlderStateIsNotTaken(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	r.flush()
	old := r.dump()
	r.apply(2, appendOf(sessionA, "id2", "hello"))
	r.m.Halt(errors.New("as if"))
	if err := r.m.Restore(bytes.NewReader(old)); err == nil {
		t.Fatal("the state goes back")
	}
	if index, _ := r.m.Applied(); index != 2 {
		t.Errorf("the state is as of entry %d", index)
	}
}

// One flipped bit of the version of a block file, which has no checksum, is damage; a version
// that differs in more is a newer one.
func TestFlippedFileVersionIsDamage(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	r.flush()
	path := r.newestBlockFile()
	extents := make(blockfile.Extents)
	for n, u := range r.uses() {
		extents[n] = u[0]
	}
	for bit := range 8 {
		flipBit(t, path, 7, bit)
		if _, err := blockfile.Open(filepath.Dir(path), extents,
			blockfile.Options{}); !errors.Is(err, blockfile.ErrCorrupt) {
			t.Errorf("bit %d of the version of a block file: %v", bit, err)
		}
		flipBit(t, path, 7, bit)
	}
}

// A halted machine writes nothing, garbage included: its store may be damaged, and is to be replaced.
func TestHaltedMachineRemovesNoGarbage(t *testing.T) {
	r := newRig(t)
	r.apply(1, appendOf(sessionA, "id", "hello"))
	r.flush()
	r.m.Halt(errors.New("as if"))
	before := r.transaction()
	if more, err := r.m.tidy(); more || !errors.Is(err, ErrHalted) {
		t.Errorf("tidy: %v, %v", more, err)
	}
	if after := r.transaction(); after != before {
		t.Errorf("transaction %d was written after %d", after, before)
	}
}
