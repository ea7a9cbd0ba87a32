package fsm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// One operation names as many elements as it may: all others wait for it.
func BenchmarkManyElements(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	names := make([]string, turn.MaxElements)
	for i := range names {
		names[i] = fmt.Sprintf("member-%016x", rnd.Uint64())
	}
	set := &turn.SetFields{Key: sessionA, Type: turn.TypeSet}
	hash := &turn.SetFields{Key: sessionA, Type: turn.TypeHash}
	scores := &turn.SetScores{Key: sessionA}
	for i, name := range names {
		set.Fields = append(set.Fields, turn.Field{Name: name})
		hash.Fields = append(hash.Fields, turn.Field{Name: name, Value: []byte("value")})
		scores.Members = append(scores.Members, turn.Score{Member: name, Score: float64(i)})
	}
	for name, op := range map[string]turn.Op{"SADD": set, "HSET": hash, "ZADD": scores} {
		for _, how := range []string{"new", "stored", "again"} {
			b.Run(name+"/"+how, func(b *testing.B) { benchMany(b, op, how) })
		}
	}
}

func benchMany(b *testing.B, op turn.Op, how string) {
	one, err := codec.EncodeOp(op)
	if err != nil {
		b.Fatal(err)
	}
	entry := func() []byte { return codec.AppendEntry(nil, 1, []codec.Command{{Op: one}}) }
	least := math.Inf(1)
	for b.Loop() {
		b.StopTimer()
		r := newRig(b)
		switch how {
		case "stored": // one element of another name
			r.apply(1, firstOf(op))
			r.flush()
		case "again": // all are there
			r.apply(1, op)
			r.flush()
		}
		before, _ := r.m.LockHolds()
		b.StartTimer()
		r.m.Apply(r.index+1, 1, entry())
		b.StopTimer()
		after, _ := r.m.LockHolds()
		least = min(least, after.Seconds-before.Seconds)
		if err := r.m.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(least*1e3, "least-ms-locked")
}

func firstOf(op turn.Op) turn.Op {
	switch o := op.(type) {
	case *turn.SetFields:
		return &turn.SetFields{Key: o.Key, Type: o.Type, Fields: []turn.Field{{Name: "other", Value: []byte("v")}}}
	case *turn.SetScores:
		return &turn.SetScores{Key: o.Key, Members: []turn.Score{{Member: "other", Score: 1}}}
	}
	return op
}
