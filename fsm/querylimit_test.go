package fsm

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/turnlog/turnlog/fsm/internal/cost"
	"github.com/turnlog/turnlog/turn"
)

// Nodes whose configurations bound answers differently come to the same state, whatever a
// transaction asks for: what its queries pass and answer with decides what is left for
// the operations behind it.
func TestAnswersOfTransactionsAreNoMatterOfConfiguration(t *testing.T) {
	zset := turn.Key{Namespace: "0", Name: "zset"}
	left := func(readBytes int, q turn.Query) int {
		r := newRig(t)
		r.m.cfg.ReadBytes = readBytes
		r.fill(200, 10<<10)
		scores := &turn.SetScores{Key: zset}
		for i := range 1000 {
			scores.Members = append(scores.Members, turn.Score{Member: fmt.Sprint(i), Score: float64(i)})
		}
		r.apply(1, scores)
		steps := []turn.Step{{Query: q}, {Query: q}, {Query: q}}
		r.apply(2, &turn.Tx{Steps: steps}, &turn.Tx{Steps: steps})
		return r.m.keys.Allowance.Left
	}
	for _, q := range []turn.Query{
		&turn.List{Key: sessionA, Stop: -1},
		&turn.Read{Key: sessionA, From: turn.FromLast},
		&turn.Read{Key: sessionA, From: turn.FromAfter, MaxTokens: 1 << 40},
		&turn.Scores{Key: zset, By: turn.ByRank, Stop: -1},
		&turn.AllFields{Key: zset, Type: turn.TypeZSet},
	} {
		if small, large := left(10<<10, q), left(64<<20, q); small != large || large == cost.EntryAllowance() {
			t.Errorf("%+v: of the allowance is left %d, and %d on another node", q, small, large)
		}
	}
}

// A range of a list is refused as soon as it is too long for an answer, before all of it
// is in memory.
func TestLongRangesAreNotGathered(t *testing.T) {
	r := newRig(t)
	r.m.cfg.ReadBytes = 1 << 20
	r.m.store.SetCache(-1)
	r.fill(1000, 64<<10)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.m.Query(&turn.List{Key: sessionA, Stop: -1})
	runtime.ReadMemStats(&after)
	if turn.KindOf(err) != turn.TooLarge {
		t.Errorf("the range of 64 MB is answered with %v", err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 8 {
		t.Errorf("that took %d MiB of memory, of an answer of 1 MiB", took)
	}
}

// A message that is longer than an answer may be is answered alone: a client that reads on behind
// the last one that it has would otherwise stay there.
func TestMessageLongerThanAnAnswerIsRead(t *testing.T) {
	r := newRig(t)
	r.m.cfg.ReadBytes = 10
	r.apply(1, appendOf(sessionA, "", "long, longer than ten bytes"), appendOf(sessionA, "", "second, as long"))
	for _, inStore := range []bool{false, true} {
		if inStore {
			if _, err := r.m.flush(); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range []turn.Read{{From: turn.FromAfter}, {From: turn.FromAfter, Seq: 1}, {From: turn.FromLast},
			{From: turn.FromBefore, Seq: 2}, {From: turn.FromAfter, MaxBytes: 5}} {
			q.Key = sessionA
			got, err := r.m.Query(&q)
			if err != nil || len(got.Messages) != 1 {
				t.Errorf("%+v: %d messages, %v", q, len(got.Messages), err)
			}
		}
	}
}

// Messages without payload take memory, too: a range of more than one for each 64 bytes of an answer is refused before
// it is gathered, and a read is cut there.
func TestManyEmptyMessagesAreNotGathered(t *testing.T) {
	r := newRig(t)
	r.m.cfg.ReadBytes = 64 << 10
	r.m.store.SetCache(-1)
	for range 100 {
		r.apply(1, &turn.Append{Key: sessionA, Messages: make([]turn.NewMessage, 1000)})
	}
	r.flush()
	most := turn.Limits{ReadBytes: r.m.cfg.ReadBytes}.ReadMessages()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := r.m.Query(&turn.List{Key: sessionA, Stop: -1})
	runtime.ReadMemStats(&after)
	if turn.KindOf(err) != turn.TooLarge || !strings.Contains(err.Error(), "has 100000 elements, and") {
		t.Errorf("the range of 100,000 messages is answered with %v", err)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1 {
		t.Errorf("that took %d MiB of memory", took)
	}
	if got := r.query(&turn.List{Key: sessionA, Start: 5, Stop: int64(4 + most)}); len(got.Messages) != most {
		t.Errorf("a range of %d has %d", most, len(got.Messages))
	}
	for _, q := range []*turn.Read{{From: turn.FromAfter}, {From: turn.FromLast},
		{From: turn.FromAfter, MaxTokens: 1 << 30}, {From: turn.FromAfter, Limit: most + 1},
		{From: turn.FromAfter, Until: 5}} {
		q.Key = sessionA
		if got := r.query(q); len(got.Messages) != most || !got.More {
			t.Errorf("%+v: %d messages, more %v; want %d", q, len(got.Messages), got.More, most)
		}
	}
}
