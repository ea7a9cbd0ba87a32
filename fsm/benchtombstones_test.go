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
