package lincheck

import (
	"math"
	"testing"
	"time"
)

func judge(t *testing.T, text string) *Verdict {
	t.Helper()
	return Check(script(t, text), Options{SearchTimeout: 10 * time.Second, CrossCheck: 100})
}

func TestGoodHistories(t *testing.T) {
	for name, text := range map[string]string{
		"empty session": `0-1 final -> last=0`,
		"one after another": `
			0-1 append a -> 1 rev=5
			2-3 read -> last=1 rev=5 1:a
			4-5 append b,c -> 2-3 rev=9
			6-7 read latest n=2 -> last=3 rev=9 2:b 3:c
			8-9 read seq=1 n=1 -> last=3 rev=9 more 2:b
			10-11 final -> last=3 rev=9 1:a 2:b 3:c`,
		"overlapping appends in either order": `
			0-10 append a -> 2 rev=6
			1-9 append b -> 1 rev=5
			2-8 read -> last=0
			20-21 final -> last=2 rev=6 1:b 2:a`,
		"unknown append took place": `
			0-1 append a -> ?
			5-6 read -> last=0
			7-8 read -> last=1 rev=3 1:a
			9-10 final -> last=1 rev=3 1:a`,
		"unknown append did not": `
			0-1 append a -> ?
			9-10 final -> last=0`,
		"retry under ids": `
			0-1 append a,b ids -> ?
			2-3 append a,b ids -> 1-2 rev=3 dup
			9-10 final -> last=2 rev=3 1:a 2:b`,
		"retry is the first to arrive": `
			0-1 append a ids -> ?
			2-3 append a ids -> 1 rev=3
			4-5 append a ids -> 1 dup
			9-10 final -> last=1 rev=3 1:a`,
		"the library's own retry": `
			0-1 append a ids retries -> 1 dup
			2-3 append b ids retries -> 2 rev=5
			9-10 final -> last=2 rev=5 1:a 2:b`,
		"refused, then sent again": `
			0-1 append a ids -> fail UNAVAILABLE
			2-3 append a ids -> 1 rev=3
			9-10 final -> last=1 rev=3 1:a`,
		"conditions": `
			0-1 append a expect=0 -> 1 rev=3
			2-3 append b ids expect=0 -> fail CONFLICT rev=3
			4-5 append b ids expect=3 -> 2 rev=7
			9-10 final -> last=2 rev=7 1:a 2:b`,
		"conflict with a revision that only it tells": `
			0-1 append a -> ?
			2-3 append b ids expect=0 -> fail CONFLICT rev=3
			4-5 append b ids expect=3 -> 2 rev=7
			9-10 final -> last=2 rev=7 1:a 2:b`,
		"stale read shows the past": `
			0-1 append a -> 1 rev=3
			2-3 append b -> 2 rev=4
			4-5 read stale -> last=1 rev=3 1:a
			9-10 final -> last=2 rev=4 1:a 2:b`,
		"bounded read is old, but not too old": `
			0-1 append a -> 1 rev=3
			2-3 append b -> 2 rev=4
			12-13 read maxage=10 -> last=1 rev=3 1:a
			19-20 final -> last=2 rev=4 1:a 2:b`,
		"tail": `
			0-1 append a -> 1 rev=3
			2-3 append b -> 2 rev=4
			4-5 tail seq=0 -> 1:a
			6-7 tail seq=1 -> 2:b
			9-10 final -> last=2 rev=4 1:a 2:b`,
		"transactions under WATCH": `
			0-1 append a watch -> 1 watched=1
			2-9 append b watch -> fail CONFLICT
			3-4 append c watch -> 2 watched=2
			9-10 final -> last=2 1:a 2:c`,
		"a pipeline of which some calls are lost": `
			0-9 append a pipe=1 -> 1
			0-9 append b pipe=2 -> ?
			0-8 append x -> 3
			0-9 append c pipe=3 -> fail UNAVAILABLE
			0-9 append d pipe=4 -> ?
			0-9 read pipe=5 -> last=4 1:a 2:b 3:x 4:d
			0-9 append e pipe=6 -> ?
			19-20 final -> last=5 1:a 2:b 3:x 4:d 5:e`,
		"pop, trim, clear, replace": `
			0-1 append a,b,c -> 1-3 rev=3
			2-3 pop n=1 -> rev=4 count=2 3:c
			4-5 append d -> 4 rev=5 count=3
			6-7 trim n=2 -> rev=6 removed=1 count=2
			8-9 replace e seq=4 -> 5 rev=7 removed=1 count=2
			10-11 read -> last=5 rev=7 count=2 2:b 5:e
			12-13 clear -> rev=8 removed=2
			14-15 final -> last=5 rev=8 count=0`,
		"delete and recreate": `
			0-1 append a ids -> 1 rev=3
			2-3 delete -> removed=1 rev=4
			4-5 append a ids -> 1 dup
			6-7 append b -> 1 rev=6
			8-9 final -> last=1 rev=6 1:b`,
		"as a list": `
			0-1 append a list -> count=1
			2-3 append b,c -> 2-3 rev=4
			4-5 pop n=2 list -> 0:c 0:b
			6-7 read list -> count=1 0:a
			8-9 trim n=2 list ->
			10-11 final -> last=3 count=1 1:a`,
		"a queue": `
			0-5 pop n=1 oldest blocks list -> 0:a
			1-9 pop n=1 oldest blocks list -> 0:b
			2-3 append a,b,c list -> count=3
			3-7 pop n=1 blocks list ->
			4-8 pop n=1 blocks list -> 0:c
			9-20 pop n=1 blocks list ->
			30-31 final -> last=3 count=0`,
		"a tail before the retry": `
			0-1 append a ids -> ?
			2-3 tail -> 1:a
			4-5 append a ids -> 1 rev=3 dup
			6-7 trim n=1 -> count=1
			10-11 final -> last=1 rev=3 1:a`,
		"a tail over trims": `
			0-1 append a,b,c -> 1-3 rev=3
			2-3 trim n=1 -> rev=4 removed=2 count=1
			0-4 tail -> 1:a
			4-5 tail seq=1 -> 3:c
			6-7 append d -> 4 rev=5 count=2
			5-8 tail seq=3 -> 4:d
			10-11 final -> last=4 rev=5 count=2 3:c 4:d`,
		"unknown delete": `
			0-1 append a -> 1 rev=3
			2-3 delete -> ?
			4-5 read -> last=1 rev=3 1:a
			6-7 final -> last=0`,
		"expiry": `
			0-1 append a ttl=100 -> 1 rev=3
			1-2 append b ttl=4000 -> 2 rev=4
			50-60 read -> last=2 rev=4 1:a 2:b
			3999-4030 read -> last=0
			9100-9101 final -> last=0`,
	} {
		if v := judge(t, text); !v.Passed() {
			t.Errorf("%s: %v %v", name, v.Violations, v.Undecided)
		}
	}
}

// Each of these was made by hand, to break one promise. The rule is the first
// thing that the checker must say about it.
func TestBadHistories(t *testing.T) {
	for name, c := range map[string]struct{ rule, text string }{
		"acknowledged append is gone": {"lost", "0-1 append a -> 1 rev=3\n 2-3 final -> last=0"},
		"a transaction after a change": {"watch",
			"0-1 append a -> 1\n 2-3 append b watch -> 2 watched=1\n 4-5 final -> last=2 1:a 2:b"},
		"last append is gone":     {"lost", "0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 final -> last=1 1:a"},
		"read value is gone":      {"lost", "0-1 append a -> ?\n 2-3 read -> last=1 1:a\n 4-5 final -> last=0"},
		"gap in the final read":   {"gap", "0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 final -> last=2 2:b"},
		"final read is cut short": {"lost", "0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 final -> last=2 1:a"},
		"at another position": {"two values",
			"0-9 append a -> 1\n 0-9 append b -> 1\n 12-13 final -> last=2 1:a 2:b"},
		"twice": {"doubled", "0-1 append a -> ?\n 2-3 final -> last=2 1:a 2:a"},
		"acknowledged twice": {"doubled",
			"0-1 append a ids -> 1\n 2-3 append a ids -> 2\n 4-5 final -> last=2 1:a 2:a"},
		"two originals": {"doubled",
			"0-1 append a ids -> 1\n 2-3 append a ids -> 1\n 4-5 final -> last=1 1:a"},
		"duplicate with other seqs": {"doubled",
			"0-1 append a ids -> 1 rev=2\n 1-2 append b -> ?\n 2-3 append a ids -> 2 dup\n 4-5 final -> last=2 " +
				"1:a 2:b"},
		"the library's late retry": {"real time",
			"0-1 append a ids retries -> 2 dup\n 2-3 append b ids -> 1\n 9-10 final -> last=2 1:b 2:a"},
		"nodes differ after a pop": {"nodes differ",
			"0-1 append a,b -> 1-2\n 2-3 pop n=1 -> count=1 2:b\n 7-8 final -> last=2 count=1 1:a\n 7-8 final stale " +
				"-> last=2 2:b"},
		"a retry hears of what it missed": {"revision of a retry",
			"0-1 append a ids -> 1 rev=2\n 2-3 append b -> 2 rev=3\n 4-5 append a ids -> 1 rev=3 dup\n 6-7 final -> " +
				"last=2 1:a 2:b"},
		"duplicate of nothing": {"false duplicate", "0-1 append a ids -> 1 dup\n 4-5 final -> last=1 1:a"},
		"duplicate of a refusal": {"false duplicate",
			"0-1 append a ids -> fail UNAVAILABLE\n 2-3 append a ids -> 1 dup\n 4-5 final -> last=1 1:a"},
		"refused but there": {"refused but there",
			"0-1 append a -> fail UNAVAILABLE\n 4-5 final -> last=1 1:a"},
		"refused but read": {"refused but there",
			"0-1 append a -> fail OVERLOADED\n 1-2 read -> last=1 1:a\n 4-5 final -> last=1 1:a"},
		"half a turn": {"torn turn", "0-1 append a,b -> ?\n 4-5 final -> last=1 1:a"},
		"a turn with a stranger inside": {"torn turn",
			"0-3 append a,b -> ?\n 0-3 append c -> ?\n 4-5 final -> last=3 1:a 2:c 3:b"},
		"a turn out of order": {"torn turn", "0-3 append a,b -> ?\n 4-5 final -> last=2 1:b 2:a"},
		"half a turn was visible": {"torn turn",
			"0-9 append a,b -> 1-2\n 3-4 read -> last=1 1:a\n 14-15 final -> last=2 1:a 2:b"},
		"fewer seqs than messages": {"seqs", "0-9 append a,b -> 1\n 14-15 final -> last=2 1:a 2:b"},
		"order against the clock": {"real time",
			"0-1 append a -> 2\n 5-6 append b -> 1\n 7-8 final -> last=2 1:b 2:a"},
		"unknown in the past": {"real time",
			"0-1 append a -> 2\n 5-6 append b -> ?\n 7-8 final -> last=2 1:b 2:a"},
		"stale read, not asked for": {"real time",
			"0-1 append a -> 1\n 2-3 read -> last=0\n 7-8 final -> last=1 1:a"},
		"read from the future": {"real time",
			"0-1 read -> last=1 1:a\n 2-3 append a -> 1\n 7-8 final -> last=1 1:a"},
		"stale read from the future": {"real time",
			"0-1 read stale -> last=1 1:a\n 2-3 append a -> 1\n 7-8 final -> last=1 1:a"},
		"stale read of what is not yet": {"real time",
			"0-9 append a -> 1\n 1-2 read stale -> last=1 1:a\n 3-4 read -> last=0\n 17-18 final -> last=1 1:a"},
		"bounded read is too old": {"real time",
			"0-1 append a -> 1\n 12-13 read maxage=10 -> last=0\n 17-18 final -> last=1 1:a"},
		"bounded read from the future": {"real time",
			"0-1 read maxage=10 -> last=1 1:a\n 2-3 append a -> 1\n 7-8 final -> last=1 1:a"},
		"reads go back": {"real time",
			"0-9 append a -> 1\n 1-2 read -> last=1 1:a\n 3-4 read -> last=0\n 17-18 final -> last=1 1:a"},
		"tail from the future": {"real time",
			"0-1 tail -> 1:a\n 2-3 append a -> 1\n 7-8 final -> last=1 1:a"},
		"duplicate before the original": {"false duplicate",
			"0-1 append a ids -> 1 dup\n 5-6 append a ids -> 1\n 7-8 final -> last=1 1:a"},
		"conflict before the cause": {"real time",
			"0-1 append b expect=0 -> fail CONFLICT rev=3\n 2-3 append a -> 1 rev=3\n 7-8 final -> last=1 rev=3 1:a"},
		"read skips a message": {"gap",
			"0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 read -> last=2 2:b\n 7-8 final -> last=2 1:a 2:b"},
		"read ends too soon": {"gap",
			"0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 read -> last=2 1:a\n 7-8 final -> last=2 1:a 2:b"},
		"read of the newest shows others": {"gap",
			"0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 read latest n=1 -> last=2 1:a\n 7-8 final -> last=2 1:a 2:b"},
		"read has another value": {"two values",
			"0-3 append a -> 1\n 0-3 append b -> 2\n 1-2 read -> last=1 1:b\n 7-8 final -> last=2 1:a 2:b"},
		"wrong count": {"count",
			"0-1 append a -> 1\n 2-3 read -> last=1 count=2 1:a\n 7-8 final -> last=1 1:a"},
		"tail skips": {"gap",
			"0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 tail -> 2:b\n 7-8 final -> last=2 1:a 2:b"},
		"tail repeats": {"gap",
			"0-1 append a -> 1\n 0-1 append b -> 2\n 2-3 tail seq=1 -> 1:a 2:b\n 7-8 final -> last=2 1:a 2:b"},
		"condition did not hold": {"revision",
			"0-1 append a -> 1 rev=3\n 1-2 append b -> 2 rev=5\n 2-3 append c expect=3 -> 3 rev=6\n 7-8 final -> " +
				"last=3 rev=6 1:a 2:b 3:c"},
		"must not exist, but does": {"condition",
			"0-1 append a -> 1 rev=3\n 2-3 append b expect=0 -> 2 rev=6\n 7-8 final -> last=2 rev=6 1:a 2:b"},
		"unknown, against its condition": {"revision",
			"0-1 append a -> 1 rev=3\n 1-2 append b expect=4 -> ?\n 7-8 final -> last=2 rev=6 1:a 2:b"},
		"conflict without a cause": {"false refusal",
			"0-1 append a -> 1 rev=3\n 2-3 append b expect=3 -> fail CONFLICT rev=3\n 7-8 final -> last=1 rev=3 1:a"},
		"conflict without a condition": {"false refusal",
			"0-1 append a -> fail CONFLICT rev=3\n 7-8 final -> last=0"},
		"conflict from nowhere": {"revision",
			"0-1 append a -> 1 rev=3\n 2-3 append b expect=3 -> fail CONFLICT rev=2\n 7-8 final -> last=1 rev=3 1:a"},
		"conflict with itself": {"false refusal",
			"0-1 append a ids expect=0 -> 1 rev=3\n 2-3 append a ids expect=0 -> fail CONFLICT rev=3\n 7-8 final -> " +
				"last=1 rev=3 1:a"},
		"id said to be reused": {"false refusal",
			"0-1 append a ids -> ?\n 2-3 append a ids -> fail ID_REUSED\n 7-8 final -> last=1 rev=3 1:a"},
		"revision goes back": {"revision",
			"0-1 append a -> 1 rev=5\n 2-3 append b -> 2 rev=4\n 7-8 final -> last=2 rev=4 1:a 2:b"},
		"revision changes by itself": {"revision",
			"0-1 append a -> 1 rev=5\n 2-3 read -> last=1 rev=6 1:a\n 7-8 final -> last=1 rev=5 1:a"},
		"nodes differ": {"nodes differ",
			"0-1 append a -> 1\n 2-3 append b -> ?\n 7-8 final -> last=1 1:a\n 7-8 final -> last=2 1:a 2:b"},
		"invented": {"foreign", "0-1 append a -> 1\n 7-8 final -> last=2 1:a 2:zzz"},
		"from another session": {"foreign",
			"session 0/x\n 0-1 append a -> 1\n session 0/y\n 2-3 final -> last=1 1:a\n session 0/x\n 3-4 final -> " +
				"last=1 1:a"},
		"from another namespace": {"foreign",
			"session 1/x\n 0-1 append a -> ?\n session 2/x\n 2-3 final -> last=1 1:a\n session 1/x\n 3-4 final " +
				"-> last=0"},
		"seq used again after a pop": {"not linearizable",
			"0-1 append a -> 1 rev=3\n 2-3 pop n=1 -> rev=4 1:a\n 4-5 append b -> 1 rev=5\n 6-7 final -> last=1 " +
				"rev=5 1:b"},
		"popped twice": {"not linearizable",
			"0-1 append a -> 1 rev=3\n 2-3 pop n=1 -> rev=4 1:a\n 4-5 pop n=1 -> rev=5 1:a\n 6-7 final -> last=1 " +
				"rev=5 count=0"},
		"popped and there": {"not linearizable",
			"0-1 append a -> 1 rev=3\n 2-3 pop n=1 -> rev=4 1:a\n 6-7 final -> last=1 rev=4 1:a"},
		"two clients, one element": {"not linearizable",
			"0-9 pop n=1 oldest blocks list -> 0:a\n 0-9 pop n=1 oldest blocks list -> 0:a\n 1-2 append a list -> " +
				"count=1\n 19-20 final -> last=1 count=0"},
		"the newest for the oldest": {"not linearizable",
			"0-1 append a,b list -> count=2\n 2-9 pop n=1 oldest list -> 0:b\n 19-20 final -> last=2 1:a"},
		"a wait beside an element": {"not linearizable",
			"0-1 append a list -> count=1\n 2-9 pop n=1 blocks list ->\n 19-20 final -> last=1 1:a"},
		"an element for no client": {"not linearizable",
			"0-1 append a list -> count=1\n 2-9 pop n=1 blocks list -> fail UNAVAILABLE\n 19-20 final -> last=1 " +
				"count=0"},
		"a tail skips what is there": {"tail skips",
			"0-1 append a,b,c -> 1-3 rev=3\n 2-3 tail -> 2:b\n 4-5 trim n=3 -> count=3\n 6-7 final -> last=3 rev=3 " +
				"1:a 2:b 3:c"},
		"a tail skips what is popped": {"tail skips",
			"0-1 append a,b -> 1-2 rev=3\n 2-3 tail seq=1 -> 2:b\n 2-3 tail -> 2:b\n 4-5 pop n=2 -> rev=4 2:b 1:a\n " +
				"6-7 final -> last=2 rev=4 count=0"},
		"a tail repeats": {"tail repeats",
			"0-1 append a,b -> 1-2 rev=3\n 2-3 tail seq=2 -> 2:b\n 4-5 trim n=1 -> rev=4 removed=1 count=1\n 6-7 " +
				"final -> last=2 rev=4 count=1 2:b"},
		"a tail invents": {"two values",
			"0-1 append a,b -> 1-2 rev=3\n 2-3 tail seq=1 -> 2:a\n 4-5 trim n=1 -> rev=4 removed=1 count=1\n 6-7 " +
				"final -> last=2 rev=4 count=1 2:b"},
		"a tail foresees": {"real time",
			"2-3 tail -> 1:a\n 4-5 append a,b -> 1-2 rev=3\n 5-6 trim n=1 -> rev=4 removed=1 count=1\n 6-7 final -> " +
				"last=2 rev=4 count=1 2:b"},
		"trim undone": {"not linearizable",
			"0-1 append a,b -> 1-2 rev=3\n 2-3 trim n=1 -> rev=4 removed=1 count=1\n 6-7 final -> last=2 rev=4 " +
				"1:a 2:b"},
		"deleted and back": {"not linearizable",
			"0-1 append a -> 1 rev=3\n 2-3 delete -> removed=1 rev=4\n 6-7 final -> last=1 rev=3 1:a"},
		"ids forgotten by a delete": {"not linearizable",
			"0-1 append a ids -> 1 rev=3\n 2-3 delete -> removed=1 rev=4\n 4-5 append a ids -> 1 rev=5\n 6-7 final " +
				"-> last=1 rev=5 1:a"},
		"one seq, two values": {"two values",
			"0-9 append a -> ?\n 0-9 append b -> ?\n 1-2 read -> last=1 inc=7 1:a\n 3-4 read -> last=1 inc=7 1:b\n " +
				"5-6 clear -> removed=1\n 7-8 final -> last=1 count=0"},
		"list of another length": {"not linearizable",
			"0-1 append a list -> count=2\n 2-3 final -> last=1 1:a"},
		"list in another order": {"not linearizable",
			"0-1 append a,b list -> count=2\n 1-2 pop n=2 list -> 0:a 0:b\n 2-3 final -> last=2 count=0"},
		"list pop of what was popped": {"not linearizable",
			"0-1 append a,b list -> count=2\n 1-2 pop n=1 list -> 0:b\n 3-4 pop n=1 list -> 0:b\n 5-6 final -> " +
				"last=2 count=1 1:a"},
		"a pipeline out of order": {"pipelined calls changed order",
			"0-9 append a pipe=1 -> 2\n 0-9 append b pipe=2 -> 1\n 19-20 final -> last=2 1:b 2:a"},
		"lost calls out of order": {"pipelined calls changed order",
			"0-9 append a pipe=1 -> ?\n 0-9 append b pipe=2 -> ?\n 19-20 final -> last=2 1:b 2:a"},
		"a late one of a pipeline": {"pipelined calls changed order",
			"0-9 append a pipe=1 -> 2\n 0-9 append b pipe=2 -> ?\n 0-9 append c pipe=3 -> 1\n 0-9 append d pipe=4 -> " +
				"3\n 19-20 final -> last=3 1:c 2:a 3:d"},
		"a read before its pipeline": {"pipelined calls changed order",
			"0-9 append a pipe=1 -> 1\n 0-9 read pipe=2 -> last=0\n 19-20 final -> last=1 1:a"},
		"a read of its pipeline's future": {"pipelined calls changed order",
			"0-9 read pipe=1 -> last=1 1:a\n 0-9 append a pipe=2 -> 1\n 19-20 final -> last=1 1:a"},
		"a pipeline over two sessions": {"pipelined calls changed order",
			"session 0/x\n 0-9 append a pipe=1 -> 1 rev=5\n 19-20 final -> last=1 1:a\n" +
				"session 0/y\n 0-9 append b pipe=2 -> 1 rev=4\n 19-20 final -> last=1 1:b"},
		"expired early": {"expired early",
			"0-1 append a ttl=100 -> 1\n 50-60 read -> last=0\n 6000-6001 final -> last=0"},
		"not renewed": {"expired early",
			"0-1 append a ttl=100 -> 1\n 50-51 append b ttl=100 -> 2\n 110-120 read -> last=0\n 6000-6001 final " +
				"-> last=0"},
		"never expires": {"not expired", "0-1 append a ttl=100 -> 1\n 6000-6001 final -> last=1 1:a"},
	} {
		v := judge(t, c.text)
		switch {
		case len(v.Violations) == 0:
			t.Errorf("%s: accepted (undecided: %v)", name, v.Undecided)
		case v.Violations[0].Rule != c.rule:
			t.Errorf("%s: want %q first, got %v", name, c.rule, v.Violations)
		}
	}
}

func TestUndecidedIsNotPassed(t *testing.T) {
	for name, text := range map[string]string{
		"no final read":                "0-1 append a -> 1",
		"no read after the deadline":   "0-1 append a ttl=100 -> 1\n 2-3 final -> last=1 1:a",
		"the same value without an id": "0-1 append a -> ?\n 2-3 append a -> ?\n 4-5 final -> last=0",
	} {
		if v := judge(t, text); v.Passed() || len(v.Violations) != 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// What fails must fail for a reason that lies in what was done to the cluster.
func TestRefusalsAreJudged(t *testing.T) {
	const text = `
		0-1 append a ids -> fail INTERNAL
		2-3 append b ids -> 1 rev=3
		4-5 append c ids expect=9 -> fail CONFLICT rev=3
		9-10 final -> last=1 rev=3 1:b`
	ms := int64(time.Millisecond)
	allow := func(code string, from, to int64) []Refusal { return []Refusal{{code, from * ms, to * ms}} }
	for _, c := range []struct {
		allowed []Refusal
		good    bool
	}{{nil, true}, {[]Refusal{}, false}, {allow("UNAVAILABLE", 0, 10), false}, {allow("INTERNAL", 0, 10), true},
		{allow("INTERNAL", 1, 10), true}, {allow("INTERNAL", 2, 10), false}, {allow("INTERNAL", -2, 0), true},
		{allow("INTERNAL", -2, -1), false}} {
		v := Check(script(t, text), Options{SearchTimeout: time.Second, Refusals: c.allowed})
		if v.Passed() != c.good || !c.good && v.Violations[0].Rule != "refusal" {
			t.Errorf("%v allowed: %v", c.allowed, v.Violations)
		}
	}
	ops := script(t, "0-1 append a ids -> fail UNAVAILABLE\n 2-3 append b ids -> fail UNAVAILABLE\n 9-10 final "+
		"-> last=0")
	ops[0].Call.Hasty = true
	if v := Check(ops, Options{SearchTimeout: time.Second, Refusals: []Refusal{}}); len(v.Violations) != 1 ||
		v.Violations[0].Ops[0] != 2 {
		t.Errorf("%v", v.Violations)
	}
}

// A node that knows of no leader waits for one. So one that says at once that there is none has not
// tried.
func TestRefusalsAtOnceAreJudged(t *testing.T) {
	for _, c := range []struct {
		took     time.Duration
		answered bool
		message  string
		good     bool
	}{{time.Millisecond, true, "no leader", false}, {1900 * time.Millisecond, true, "no leader", false},
		{2500 * time.Millisecond, true, "no leader", true}, {time.Millisecond, false, "connection refused", true},
		{time.Millisecond, true, "the node is stopping", true}} {
		ops := script(t, "0-1 append a ids -> fail UNAVAILABLE\n 5000-5001 final -> last=0")
		ops[0].Return, ops[0].End = ops[0].Invoke+int64(c.took), ops[0].Invoke+int64(c.took)
		ops[0].Error.Answered, ops[0].Error.Message = c.answered, c.message
		v := Check(ops, Options{SearchTimeout: time.Second,
			Refusals: []Refusal{{Code: "UNAVAILABLE", To: math.MaxInt64}}})
		if v.Passed() != c.good || !c.good && v.Violations[0].Rule != "refused at once" {
			t.Errorf("%+v: %v", c, v.Violations)
		}
	}
}
