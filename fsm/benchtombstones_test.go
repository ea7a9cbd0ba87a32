package fsm

import (
	"fmt"
	"testing"

	"github.com/turnlog/turnlog/turn"
)

// BenchmarkAppendAfterDeletions appends 1,000 messages with ids to a key that was deleted
// so many times recently.
func BenchmarkAppendAfterDeletions(b *testing.B) {
	for _, cycles := range []int{0, 300, 3_000} {
		b.Run(fmt.Sprint(cycles), func(b *testing.B) {
			m, index := benchValues(b), uint64(0)
			do := func(op turn.Op) {
				e := encodeEntryOf(b, op)
				index++
				b.StartTimer()
				m.Apply(index, 1, e)
				b.StopTimer()
			}
			key := turn.Key{Namespace: "0", Name: "key"}
			for i := range cycles {
				do(&turn.Append{Key: key, Messages: newMessages(fmt.Sprint("s", i), 1)})
				do(&turn.Delete{Keys: []turn.Key{key}})
			}
			b.ResetTimer()
			for i := 0; i < b.N; i++ {
				do(&turn.Append{Key: key, Messages: newMessages(fmt.Sprint("new", i), 1_000)})
			}
		})
	}
}

// BenchmarkPushAfterRenamings pushes what was pushed to a key and renamed as often as is remembered, and popped
// since.
func BenchmarkPushAfterRenamings(b *testing.B) {
	r := newRig(b)
	r.raise(turn.Level3)
	var ids []string
	for i := range turn.TombstoneMessages / turn.DeletedSessions {
		ids = append(ids, fmt.Sprint("id", i))
	}
	push := pushTo("a", ids...)
	for i := range turn.DeletedSessions {
		to := fmt.Sprint("to", i)
		r.do(push)
		r.do(renameTo("a", to))
		r.do(&turn.Append{Key: named(to), Messages: payload("plain")})
		r.do(&turn.Pop{Key: named(to), From: turn.Head, Count: uint64(len(ids)), List: true})
	}
	r.flush()
	for b.Loop() {
		if r.do(push).Duplicate {
			b.Fatal("it is a repeat")
		}
		b.StopTimer()
		r.do(&turn.Pop{Key: named("a"), From: turn.Head, Count: uint64(len(ids)), List: true})
		b.StartTimer()
	}
}
