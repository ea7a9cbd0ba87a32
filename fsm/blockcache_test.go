package fsm

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm/blockfile"
	"github.com/turnlog/turnlog/turn"
)

func TestBlockCacheKeepsWhatWasUsedLast(t *testing.T) {
	ref := func(i int) blockfile.Ref { return blockfile.Ref{File: 1, Offset: int64(i), Length: 1000} }
	c := newBlockCache(10 * (1000 + smallCost))
	block := make([]byte, 1000)
	for i := range 10 {
		c.add(ref(i), block)
		c.add(ref(i), block) // by two that read it at once
	}
	c.get(ref(0), true)
	c.add(ref(10), block)
	c.drop(ref(5))
	c.drop(ref(77))
	for i := range 11 {
		_, ok, again := c.get(ref(i), true)
		if gone := i == 1 || i == 5; ok == gone || again {
			t.Errorf("block %d is kept: %v, was missed before: %v", i, ok, again)
		}
		if _, _, again = c.get(ref(i), true); again == ok {
			t.Errorf("block %d is kept: %v, and the second time it was missed before: %v", i, ok, again)
		}
	}
	if want := c.limit * 9 / 10; c.bytes != want || c.order.Len() != 9 || len(c.found) != 9 {
		t.Errorf("9 blocks of %d bytes count as %d, %d of %d bytes", want, c.order.Len(), len(c.found), c.bytes)
	}
	big := blockfile.Ref{File: 2, Length: c.limit / 4}
	if c.add(big, make([]byte, big.Length)); len(c.found) != 9 {
		t.Error("a block of a quarter of the cache is kept")
	}
}

// The same reads of sessions of one block to many, with a cache that has no room for all
// of it and without one, while messages come, go and move to other blocks. What was read
// stays as it was, though memory for blocks is used again.
func TestReadsSameWithAndWithoutCache(t *testing.T) {
	open := func(cache int) *Machine {
		m, err := Open(Config{Dir: t.TempDir(), FlushBytes: 1 << 30, CacheBytes: cache, Logger: slog.New(slog.DiscardHandler)})
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
		var op turn.Op = &turn.Append{Key: k, Messages: []turn.NewMessage{{Data: []byte(strings.Repeat(fmt.Sprint(step, " "), 1+rnd.IntN(1500)))}}}
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
		if c := rigs[0].m.cache; c.bytes > c.limit {
			t.Fatalf("the cache of %d bytes holds %d", c.limit, c.bytes)
		}
		hits += rigs[0].m.cache.order.Len()
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
	if hits == 0 || rigs[1].m.cache.order.Len() != 0 {
		t.Errorf("the caches held %d and %d blocks", hits, rigs[1].m.cache.order.Len())
	}
}

// A walk through a long session leaves the ends of others where they are.
func TestLongReadKeepsTheCache(t *testing.T) {
	r := newRig(t)
	long := turn.Key{Namespace: "0", Name: "long"}
	for range 400 {
		r.apply(1, &turn.Append{Key: long, Messages: []turn.NewMessage{{Data: make([]byte, blockBytes/2+1)}}})
	}
	r.flush()
	for i, want := range []int{0, keepBlocks, keepBlocks} {
		if n := len(r.query(&turn.Read{Key: long}).Messages); n != 400 {
			t.Fatalf("read %d messages", n)
		}
		if n := r.m.cache.order.Len(); n != want {
			t.Errorf("%d blocks are kept after read %d, want %d", n, i, want)
		}
	}
}
