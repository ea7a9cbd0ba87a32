package command

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

// What is written follows from the words of a request alone: options, units, and the largest numbers.
func TestWritesMeanWhatTheySay(t *testing.T) {
	k := turn.Key{Namespace: "0", Name: "k"}
	ms := []turn.NewMessage{{Data: []byte("a")}}
	v := []byte("v")
	score := func(change func(*turn.SetScores)) turn.Op {
		op := &turn.SetScores{Key: k, Members: []turn.Score{{Member: "m", Score: 2}}}
		change(op)
		return op
	}
	most := strconv.Itoa(math.MaxInt64)
	for line, want := range map[string]turn.Op{
		"EXPIRE k 2":                    &turn.Expire{Key: k, HasTTL: true, TTL: 2000, List: true},
		"EXPIRE k -2":                   &turn.Expire{Key: k, HasTTL: true, TTL: -2000, List: true},
		"PEXPIRE k 2 NX":                &turn.Expire{Key: k, HasTTL: true, TTL: 2, If: turn.IfNone, List: true},
		"EXPIREAT k 2 XX":               &turn.Expire{Key: k, HasAt: true, At: 2000, If: turn.IfSome, List: true},
		"PEXPIREAT k 2 GT":              &turn.Expire{Key: k, HasAt: true, At: 2, If: turn.IfLater, List: true},
		"EXPIRE k 1 LT":                 &turn.Expire{Key: k, HasTTL: true, TTL: 1000, If: turn.IfSooner, List: true},
		"PEXPIRE k 1 XX lt":             &turn.Expire{Key: k, HasTTL: true, TTL: 1, If: turn.IfSomeSooner, List: true},
		"EXPIRE k 1 XX GT":              &turn.Expire{Key: k, HasTTL: true, TTL: 1000, If: turn.IfLater, List: true},
		"PERSIST k":                     &turn.Expire{Key: k, List: true},
		"PEXPIREAT k " + most:           &turn.Expire{Key: k, HasAt: true, At: math.MaxInt64, List: true},
		"PEXPIRE k " + num(turn.MaxTTL): &turn.Expire{Key: k, HasTTL: true, TTL: turn.MaxTTL, List: true},
		"SET k v":                       &turn.SetString{Key: k, Value: v},
		"SET k v NX GET":                &turn.SetString{Key: k, Value: v, If: turn.SetIfAbsent, Get: true},
		"SET k v XX KEEPTTL":            &turn.SetString{Key: k, Value: v, If: turn.SetIfPresent, KeepTTL: true},
		"SET k v EX 2":                  &turn.SetString{Key: k, Value: v, TTL: 2000},
		"SET k v PX 2":                  &turn.SetString{Key: k, Value: v, TTL: 2},
		"SET k v EXAT 2":                &turn.SetString{Key: k, Value: v, At: 2000},
		"SET k v PXAT " + most:          &turn.SetString{Key: k, Value: v, At: math.MaxInt64},
		"SETEX k 2 v":                   &turn.SetString{Key: k, Value: v, TTL: 2000},
		"PSETEX k 2 v":                  &turn.SetString{Key: k, Value: v, TTL: 2},
		"SETNX k v":                     &turn.SetString{Key: k, Value: v, If: turn.SetIfAbsent},
		"GETSET k v":                    &turn.SetString{Key: k, Value: v, Get: true},
		"GETDEL k":                      &turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, At: 1},
		"GETEX k PX 2": &turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, KeepValue: true,
			TTL: 2},
		"GETEX k EXAT 2": &turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, KeepValue: true,
			At: 2000},
		"GETEX k PERSIST":               &turn.SetString{Key: k, If: turn.SetIfPresent, Get: true, KeepValue: true},
		"INCR k":                        &turn.AddInt{Key: k, Delta: 1},
		"DECR k":                        &turn.AddInt{Key: k, Delta: -1},
		"DECRBY k 3":                    &turn.AddInt{Key: k, Delta: -3},
		"INCRBY k -9223372036854775808": &turn.AddInt{Key: k, Delta: math.MinInt64},
		"RPUSH k a":                     &turn.Append{Key: k, Messages: ms, Side: turn.Tail},
		"LPUSH k a":                     &turn.Append{Key: k, Messages: ms, Side: turn.Head},
		"RPUSHX k a":                    &turn.Append{Key: k, Messages: ms, Side: turn.Tail, OnlyExisting: true},
		"LPOP k":                        &turn.Pop{Key: k, From: turn.Head, Count: 1, List: true},
		"RPOP k 3":                      &turn.Pop{Key: k, From: turn.Tail, Count: 3, List: true},
		"LMPOP 1 k RIGHT COUNT 2":       &turn.PopFirst{Keys: []turn.Key{k}, From: turn.Tail, Count: 2},
		"LMOVE k k LEFT RIGHT":          &turn.MoveElement{Key: k, To: k, From: turn.Head, On: turn.Tail},
		"RPOPLPUSH k k":                 &turn.MoveElement{Key: k, To: k, From: turn.Tail, On: turn.Head},
		"ZADD k 2 m":                    score(func(*turn.SetScores) {}),
		"ZADD k NX CH 2 m":              score(func(s *turn.SetScores) { s.OnlyNew, s.Changed = true, true }),
		"ZADD k XX GT 2 m":              score(func(s *turn.SetScores) { s.OnlyExisting, s.OnlyGreater = true, true }),
		"ZADD k LT INCR 2 m":            score(func(s *turn.SetScores) { s.OnlyLess, s.Increment = true, true }),
		"ZINCRBY k 2 m":                 score(func(s *turn.SetScores) { s.Increment = true }),
		"SINTERSTORE k l k": &turn.StoreSets{To: k,
			Of: turn.CombineSets{Keys: []turn.Key{{Namespace: "0", Name: "l"}, k}}},
		"SDIFFSTORE k k": &turn.StoreSets{To: k, Of: turn.CombineSets{Keys: []turn.Key{k}, By: turn.Difference}},
		"ZPOPMIN k":      &turn.RemoveScores{Of: turn.Scores{Key: k}, Answer: true},
		"ZPOPMAX k 3": &turn.RemoveScores{Of: turn.Scores{Key: k, Stop: 2, Reverse: true},
			Answer: true},
		"ZREMRANGEBYRANK k 1 -2": &turn.RemoveScores{Of: turn.Scores{Key: k, Start: 1, Stop: -2}},
		"ZREMRANGEBYSCORE k (1 2": &turn.RemoveScores{Of: turn.Scores{Key: k, By: turn.ByScore,
			Min: turn.Bound{Score: 1, Exclusive: true}, Max: turn.Bound{Score: 2}}},
		"ZREMRANGEBYLEX k - [m": &turn.RemoveScores{Of: turn.Scores{Key: k, By: turn.ByName,
			Min: turn.Bound{Open: true}, Max: turn.Bound{Name: "m"}}},
		"ZREMRANGEBYLEX k + [m": &turn.RemoveScores{Of: turn.Scores{Key: k, Start: 1}},
	} {
		a, ok := handled(t, line, false).(*Write)
		if !ok {
			t.Errorf("%s makes no write", line)
		} else if got, want := fmt.Sprintf("%T%+v", a.Op, a.Op), fmt.Sprintf("%T%+v", want, want); got != want {
			t.Errorf("%s writes\n%s, want\n%s", line, got, want)
		}
	}
}

func num(n int64) string { return strconv.FormatInt(n, 10) }

func TestWordsAreRefused(t *testing.T) {
	const most int64 = turn.MaxTTL
	for _, line := range []string{"EXPIRE k 1 NX XX", "EXPIRE k 1 NX GT", "EXPIRE k 1 NX LT", "EXPIRE k 1 GT LT",
		"EXPIRE k 1 ZZ", "EXPIRE k x", "PEXPIRE k " + num(most+1), "EXPIRE k " + num(most/1000+1),
		"EXPIRE k " + num(math.MinInt64/1000-1), "EXPIREAT k " + num(math.MaxInt64/1000+1),
		"SET k v NX XX", "SET k v XX NX", "SET k v EX", "SET k v EX 0", "SET k v EX -1", "SET k v EX 1 PX 1",
		"SET k v EX 1 KEEPTTL", "SET k v KEEPTTL EX 1", "SET k v EX x", "SET k v PX " + num(most+1),
		"SET k v EXAT " + num(math.MaxInt64/1000+1), "SETEX k 0 v",
		"DECRBY k -9223372036854775808", "INCRBY k 9223372036854775808", "INCRBY k x",
		"ZADD k NX XX 1 m", "ZADD k GT LT 1 m", "ZADD k NX GT 1 m", "ZADD k NX LT 1 m", "ZADD k INCR 1 m 2 n",
		"ZADD k 1 m 2", "ZADD k nan m", "LPOP k -1", "LMPOP 0 k LEFT", "LMPOP 2 k LEFT", "LMPOP 1 k LEFT COUNT 0",
		"LMPOP 1 k MIDDLE", "LMPOP 1 k LEFT COUNT 1 x", "LMOVE a b LEFT UP", "LMOVE a b UP LEFT",
		"BLPOP k -1", "BLPOP k x",
		"BLPOP k 1e300", "MSET a 1 b", "MSETNX a 1 b", "ZRANK k m SCORE", "GETEX k EX", "GETEX k PERSIST EX 1",
		"GETEX k EX 1 PERSIST", "GETEX k KEEPTTL", "ZPOPMIN k -1", "ZPOPMAX k 1 x", "ZREMRANGEBYSCORE k a b",
	} {
		if a, ok := handled(t, line, false).(Error); !ok {
			t.Errorf("%s makes a %T", line, a)
		}
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{"0": 0, "1": time.Second, "0.0000001": time.Millisecond,
		"0.25": 250 * time.Millisecond, "1e14": 100 * 365 * 24 * time.Hour} {
		if got, err := parseTimeout([]byte(text)); got != want || err != "" {
			t.Errorf("%s s: %v, %s", text, got, err)
		}
	}
	longest := maxBlock.Milliseconds()
	for ms, want := range map[int64]time.Duration{0: maxBlock, 1: time.Millisecond, longest: maxBlock,
		longest - 1: maxBlock - time.Millisecond, longest + 1: maxBlock, math.MaxInt64: maxBlock} {
		if got, err := parseWait([]byte(num(ms))); got != want || err != "" {
			t.Errorf("%d ms: %v, %s", ms, got, err)
		}
	}
	for _, bad := range []string{"-1", "x", ""} {
		if _, err := parseWait([]byte(bad)); err == "" {
			t.Errorf("%q is a time", bad)
		}
	}
	const most = math.MaxInt64
	for ms, want := range map[int64]int64{0: 0, 499: 0, 500: 1, 1499: 1, 1500: 2, most: most/1000 + 1} {
		if got := rounded(ms, 1000); got != want || rounded(ms, 1) != ms {
			t.Errorf("%d ms are %d s, want %d", ms, got, want)
		}
	}
}

// reply is what a client receives.
func reply(t *testing.T, r Reply) string {
	t.Helper()
	var b bytes.Buffer
	w := resp.NewWriter(&b)
	r(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The time that is left passes also between log entries, and a deadline that has passed leaves nothing.
func TestTimeLeft(t *testing.T) {
	table := NewTable()
	b := NewBackend(table, Config{Engine: onlyLimits{}, Now: func() time.Time { return time.UnixMilli(10_000) }})
	for _, c := range []struct {
		line            string
		expires, passed int64
		want            string
	}{
		{"PTTL k", 12_500, 0, ":2500\r\n"}, {"PTTL k", 12_500, 11_000, ":1500\r\n"}, {"PTTL k", 9_000, 0, ":0\r\n"},
		{"TTL k", 12_499, 0, ":2\r\n"}, {"TTL k", 12_500, 0, ":3\r\n"}, {"TTL k", 0, 0, ":-1\r\n"},
		{"PEXPIRETIME k", 12_500, 11_000, ":12500\r\n"}, {"EXPIRETIME k", 12_500, 11_000, ":13\r\n"},
	} {
		cmd, _ := table.Find(split(c.line))
		a := cmd.Handle(&Request{Command: cmd, Namespace: "0", Backend: b, Client: silent{}}, split(c.line)).(*Read)
		r := turn.Result{Time: c.passed, Session: &turn.Session{Count: 1, ExpiresAt: c.expires, Type: turn.TypeList}}
		answer, err := a.Answer([]Outcome{{Result: r}})
		if err != nil {
			t.Fatal(err)
		}
		if got := reply(t, answer); got != c.want {
			t.Errorf("%s of %d at %d: %q, want %q", c.line, c.expires, c.passed, got, c.want)
		}
	}
}

// What may change something may not be performed twice; the rest may.
func TestMayWrite(t *testing.T) {
	for _, a := range []Action{Reply(nil), Error(""), Gate{}, &Read{}, &Follow{}} {
		if MayWrite(a) {
			t.Errorf("a %T may write", a)
		}
	}
	for _, a := range []Action{&Write{}, &Work{}, &Wait{}, &Publish{}} {
		if !MayWrite(a) {
			t.Errorf("a %T writes nothing", a)
		}
	}
}

// writes is an engine that answers writes as told, in turn, and counts watches.
type writes struct {
	onlyLimits
	ops     []turn.Op
	results []turn.Result
	errs    []error
	watched int
}

type settled struct {
	r   turn.Result
	err error
}

func (settled) Done() <-chan struct{}        { return nil }
func (s settled) Wait() (turn.Result, error) { return s.r, s.err }

func (e *writes) Submit(_ context.Context, op turn.Op) Pending {
	i := len(e.ops)
	e.ops = append(e.ops, op)
	return settled{e.results[i], e.errs[i]}
}

func (e *writes) Calm(context.Context) error { return nil }

func (e *writes) Watch(turn.Key) (<-chan struct{}, func()) {
	e.watched++
	return nil, func() { e.watched-- }
}

// noted is a client that remembers what its requests have done.
type noted struct {
	silent
	last     *uint64
	detached *bool
}

func (n noted) NoteWrite(index uint64) { *n.last = max(*n.last, index) }
func (n noted) Detach()                { *n.detached = true }

// of makes the handler's action of a request to an engine.
func of(t *testing.T, e Engine, args [][]byte) (a Action, client noted) {
	t.Helper()
	table := NewTable()
	cmd, refusal := table.Find(args)
	if refusal != "" {
		t.Fatal(refusal)
	}
	client = noted{last: new(uint64), detached: new(bool)}
	b := NewBackend(table, Config{Engine: e, Now: time.Now})
	return cmd.Handle(&Request{Command: cmd, Namespace: "0", Backend: b, Client: client}, args), client
}

// A DEL of so many keys that it takes several steps says so if one of them fails, and that nothing was done only if
// nothing was.
func TestDeletionInSteps(t *testing.T) {
	args := split("DEL" + strings.Repeat(" k", 2*delBatch+1))
	none, unknown := turn.Errorf(turn.Unavailable, "no leader"), turn.Errorf(turn.Unknown, "lost")
	for _, c := range []struct {
		removed []uint64
		errs    []error
		want    turn.Kind
	}{
		{[]uint64{1000, 1000, 1}, []error{nil, nil, nil}, turn.None},
		{[]uint64{0, 0, 0}, []error{none, none, none}, turn.Unavailable},
		{[]uint64{0, 0, 0}, []error{none, unknown, none}, turn.Unknown},
		{[]uint64{0, 0, 0}, []error{unknown, none, none}, turn.Unknown},
		{[]uint64{5, 0, 0}, []error{nil, none, none}, turn.Unknown},
		{[]uint64{0, 0, 5}, []error{none, none, nil}, turn.Unknown},
	} {
		e := &writes{errs: c.errs}
		for i, n := range c.removed {
			e.results = append(e.results, turn.Result{Removed: n, Index: uint64(10 - i)})
		}
		a, client := of(t, e, args)
		r, err := a.(*Work).Run(t.Context())
		if turn.KindOf(err) != c.want || len(e.ops) != 3 || *client.last != 10 {
			t.Errorf("removed %v, errors %v: %v; %d steps, last entry %d", c.removed, c.errs, err, len(e.ops),
				*client.last)
		}
		if c.want == turn.None {
			if got := reply(t, r); got != ":2001\r\n" {
				t.Errorf("answered %q", got)
			}
		}
	}
}

// Large payloads keep the memory that they were read into, which is the reader's no more; small ones are copied.
func TestPayloadsStay(t *testing.T) {
	for _, c := range []struct {
		line     string
		size     int
		detached bool
	}{{"RPUSH k", 8 << 10, true}, {"RPUSH k", 8<<10 - 1, false}, {"RPUSH k", 1, false},
		{"SET k", 16 << 10, true}, {"SET k", 16<<10 - 1, false}} {
		args := append(split(c.line), bytes.Repeat([]byte("x"), c.size))
		if strings.HasPrefix(c.line, "RPUSH") {
			args = append(args, bytes.Repeat([]byte("x"), c.size))
		}
		a, client := of(t, onlyLimits{}, args)
		if *client.detached != c.detached {
			t.Errorf("%s of %d bytes: the memory is the handler's: %v", c.line, c.size, *client.detached)
		}
		if !c.detached {
			clear(args[2]) // as the reader does with the next request
		}
		var kept []byte
		switch op := a.(*Write).Op.(type) {
		case *turn.Append:
			kept = op.Messages[0].Data
		case *turn.SetString:
			kept = op.Value
		}
		if len(kept) != c.size || len(bytes.Trim(kept, "x")) > 0 {
			t.Errorf("%s of %d bytes: the payload has changed", c.line, c.size)
		}
	}
}

// Whatever ends a wait for several lists, nothing keeps watching them.
func TestWatchesEnd(t *testing.T) {
	e := new(writes)
	b := NewBackend(NewTable(), Config{Engine: e, Now: time.Now})
	_, stop := b.watchAll([]turn.Key{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	if e.watched != 3 {
		t.Errorf("%d lists are watched", e.watched)
	}
	if stop(); e.watched != 0 {
		t.Errorf("%d lists are watched still", e.watched)
	}
}
