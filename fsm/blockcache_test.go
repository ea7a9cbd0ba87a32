package fsm

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/layout"
	"github.com/turnlog/turnlog/fsm/internal/store"
	"github.com/turnlog/turnlog/turn"
)

// The same reads of sessions of one block to many, with a cache that has no room for all
// of it and without one, while messages come, go and move to other blocks. What was read
// stays as it was, though memory for blocks is used again.
func TestReadsSameWithAndWithoutCache(t *testing.T) {
	open := func(cache int) *Machine {
		m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 1 << 30, CacheBytes: cache,
			Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	rigs := []*rig{{t: t, m: open(400 << 10)}, {t: t, m: open(-1)}}
	rnd := rand.New(rand.NewPCG(1, 2))
	key := func(i int) turn.Key { return turn.Key{Namespace: "0", Name: fmt.Sprint(i)} }
	const sessions = 12
	hits := 0
	var all []turn.Message
	var before [][]byte
	for step := range 1500 {
		k := key(rnd.IntN(sessions))
		var op turn.Op = &turn.Append{Key: k,
			Messages: []turn.NewMessage{{Data: []byte(strings.Repeat(fmt.Sprint(step, " "), 1+rnd.IntN(1500)))}}}
		switch rnd.IntN(20) {
		case 0:
			op = &turn.Pop{Key: k, From: turn.Newest, Count: 3}
		case 1:
			op = &turn.Trim{Key: k, By: turn.KeepLast, N: uint64(rnd.IntN(200))}
		case 2:
			op = &turn.Delete{Keys: []turn.Key{key(sessions - 1)}}
		}
		read := &turn.Read{Key: k, From: turn.FromLast, Limit: rnd.IntN(120)}
		if rnd.IntN(2) == 0 {
			read = &turn.Read{Key: k, From: turn.FromAfter, Seq: uint64(rnd.IntN(40))}
		}
		flush := rnd.IntN(8) == 0
		var got [2]turn.Result
		if rnd.IntN(3) > 0 { // what is read again is kept
			read = &turn.Read{Key: k, From: turn.FromLast, Limit: 20}
		}
		for i, r := range rigs {
			r.apply(1, op)
			if flush {
				r.flush()
			}
			got[i] = r.query(read)
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Fatalf("step %d: with a cache %+v, without %+v", step, got[0], got[1])
		}
		kept, size := rigs[0].m.store.CacheSize()
		if size > 400<<10 {
			t.Fatalf("the cache of 400 KiB holds %d bytes", size)
		}
		hits += kept
		for _, m := range got[step%2].Messages {
			all, before = append(all, m), append(before, bytes.Clone(m.Data))
		}
	}
	for i, m := range all {
		if !bytes.Equal(m.Data, before[i]) {
			t.Fatalf("message %d of an answer, %.20q, became %.20q", m.Seq, before[i], m.Data)
		}
	}
	if reads, cached := rigs[0].m.BlockReads(); cached == 0 || cached >= reads {
		t.Errorf("%d of %d blocks were in the cache", cached, reads)
	}
	if without, _ := rigs[1].m.store.CacheSize(); hits == 0 || without != 0 {
		t.Errorf("the caches held %d and %d blocks", hits, without)
	}
}

// A walk through a long session leaves the ends of others where they are.
func TestLongReadKeepsTheCache(t *testing.T) {
	r := newRig(t)
	long := turn.Key{Namespace: "0", Name: "long"}
	for range 400 {
		r.apply(1, &turn.Append{Key: long, Messages: []turn.NewMessage{{Data: make([]byte, layout.BlockBytes/2+1)}}})
	}
	r.flush()
	for i, want := range []int{0, store.KeepBlocks, store.KeepBlocks} {
		if n := len(r.query(&turn.Read{Key: long}).Messages); n != 400 {
			t.Fatalf("read %d messages", n)
		}
		if n, _ := r.m.store.CacheSize(); n != want {
			t.Errorf("%d blocks are kept after read %d, want %d", n, i, want)
		}
	}
}
