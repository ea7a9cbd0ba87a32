package lincheck

import (
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/lincheck/history"
)

// keyHistory reads lines such as "0-5 SET 1 NX → OK"; without an answer, the outcome is unknown.
func keyHistory(t *testing.T, text string) []history.Operation {
	var ops []history.Operation
	for line := range strings.SplitSeq(text, ";") {
		command, answer, told := strings.Cut(strings.TrimSpace(line), " → ")
		words := strings.Fields(command)
		op := script(t, words[0]+" do")[0]
		op.ID, op.Process, op.Call.Values = int64(len(ops)+1), len(ops), nil
		op.Call.Command, op.Result.Answer = words[1:], answer
		if !told {
			op.Outcome, op.Return = history.Info, history.Forever
		}
		ops = append(ops, op)
	}
	last := &ops[len(ops)-1]
	last.Call.Func, last.Call.Final = history.Ask, true
	return ops
}

func TestKeysAreJudged(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		good bool
	}{
		"one after the other":  {`0-1 SET 1 NX → OK; 2-3 SET 2 NX → nil; 9-10 GET → "1"`, true},
		"two have the lock":    {`0-5 SET 1 NX → OK; 1-4 SET 2 NX → OK; 9-10 GET → "1"`, false},
		"no client has it":     {`0-1 SET 1 NX → OK; 2-3 DEL → 1; 4-5 SET 2 NX → nil; 9-10 GET → nil`, false},
		"both added":           {`0-5 INCRBY 1 → 2; 1-4 INCRBY 1 → 1; 9-10 GET → "2"`, true},
		"one addition is lost": {`0-5 INCRBY 1 → 1; 1-4 INCRBY 1 → 1; 9-10 GET → "1"`, false},
		"it was carried out":   {`0-1 HINCRBY n 2; 4-5 HGETALL → []; 9-10 HGETALL → ["n" "2"]`, true},
		"it was not":           {`0-1 HINCRBY n 2; 9-10 HGETALL → []`, true},
		"it was twice":         {`0-1 HINCRBY n 2; 9-10 HGETALL → ["n" "4"]`, false},
		"popped twice": {`0-1 RPUSH a b → 2; 2-5 LPOP → "a"; 3-6 LPOP → "a"; 9-10 LRANGE 0 -1 → ["b"]`,
			false},
		"a read of before":    {`0-1 SADD a → 1; 2-3 SCARD → 0; 9-10 SMEMBERS → ["a"]`, false},
		"an id is given once": {`0-5 XADD 3-0 f v → "3-0"; 1-4 XADD 3-0 f w → "3-0"; 9-10 XLEN → 1`, false},
		"removed, and there again": {`0-1 ZADD 1 a → 1; 2-3 ZREM a → 1; 9-10 ZRANGE 0 -1 WITHSCORES → ["a" "1"]`,
			false},
	} {
		v := Check(keyHistory(t, c.text), Options{SearchTimeout: 10 * time.Second})
		if v.Passed() != c.good || len(v.Undecided) > 0 {
			t.Errorf("%s: %v, %v", name, v.Violations, v.Undecided)
		}
	}
	ops := keyHistory(t, "0-1 SET 1 → OK; 9-10 GET → 1")
	if v := Check(ops[:1], Options{SearchTimeout: time.Second}); v.Passed() || len(v.Undecided) != 1 {
		t.Errorf("a key that was not read at the end: %+v", v)
	}
}
