package workload

import (
	"context"
	"strconv"
	"strings"

	"github.com/turnlog/turnlog/internal/lincheck/history"
	"github.com/turnlog/turnlog/internal/lincheck/value"
	"github.com/turnlog/turnlog/turn"
)

// valueAPI carries out commands as they are.
type valueAPI struct{ respAPI }

func (d *valueAPI) Do(ctx context.Context, key turn.Key, c *history.Call) (history.Result, error) {
	if len(c.Command) == 0 {
		return history.Result{}, unsupported(VALUES, c)
	}
	if c.Command[0] == value.Snapshot {
		return d.snapshot(ctx, key)
	}
	v, err := d.roundTrip(ctx, key.Namespace, c.Func.Writes(), value.Words(c.Command, key.Name))
	if err != nil {
		return history.Result{}, err
	}
	if refused := replyError(v); refused != nil && !meant(v.Err().Error()) {
		return history.Result{}, refused
	}
	return history.Result{Answer: value.Answer(c.Command[0], v)}, nil
}

// meant reports whether an error is an answer that follows from what there is.
func meant(text string) bool {
	code, _, _ := strings.Cut(text, " ")
	return code == "ERR" || code == turn.NotFound.String() || code == turn.Exists.String() ||
		code == turn.IDReused.String()
}

// command makes up a command for the type that the session is.
func command(w *worker, s *Session) history.Call {
	words := strings.Fields(w.one(commands[s.kind]))
	key := w.rand.IntN(3)
	for i, word := range words {
		switch word {
		case "all":
			words[i] = "@"
		case "v": // not often the same, so that nothing lost is made good
			words[i] = w.run.token()
		case "a": // often the same, so that it is met
			words[i] = string("abcd"[w.rand.IntN(4)])
		case "@":
			words[i] = "@" + strconv.Itoa(key)
		case "other":
			words[i] = "@" + strconv.Itoa((key+1+w.rand.IntN(2))%3)
		case "n":
			words[i] = strconv.Itoa(w.rand.IntN(7) - 3)
		case "m":
			words[i] = strconv.Itoa(1 + w.rand.IntN(4))
		case "id":
			words[i] = strconv.FormatInt(max(1, w.run.tokens.Add(1)-w.rand.Int64N(3)), 10) + "-0"
		}
	}
	c := history.Call{Func: history.Do, Command: words}
	if asks[words[0]] || words[0] == "TURN.READ" || words[0] == "TURN.INFO" || words[0] == "TURN.LIST" {
		c.Func = history.Ask
	}
	return c
}

func (w *worker) one(of []string) string { return of[w.rand.IntN(len(of))] }

// write makes up calls until one is a write.
func (w *worker) write(s *Session) history.Call {
	for {
		if c := w.workload.Next(w, s); c.Func.Writes() {
			return c
		}
	}
}

// commands are, by type, what is asked for, each as likely; see command for the letters.
var commands = map[string][]string{
	"list": {"RPUSH v", "RPUSH a v", "RPUSH a", "LPUSH v", "LPUSH a v", "LPUSH a a", "LSET n v", "LSET n a", "LREM n a",
		"LREM n a", "LINSERT BEFORE a v", "LINSERT AFTER a a",
		"LPOP", "RPOP", "LTRIM 0 m", "LTRIM n -1", "DEL", "LRANGE 0 -1", "LRANGE 0 -1", "LRANGE n m",
		"LINDEX n", "LLEN"},
	"hash": {"HSET a v", "HSET a v a v", "HSETNX a v", "HDEL a", "HDEL a a", "HINCRBY count n", "HINCRBY count n",
		"DEL", "HGET a", "HGET count", "HGETALL", "HGETALL", "HLEN"},
	"set": {"SADD a", "SADD a a", "SADD v", "SREM a", "SREM a a", "DEL", "SISMEMBER a", "SMEMBERS",
		"SMEMBERS", "SCARD"},
	"zset": {"ZADD n a", "ZADD n v", "ZADD NX n a", "ZADD XX n a", "ZADD GT n a", "ZADD LT n a", "ZINCRBY n a",
		"ZREM a", "ZREM a a", "DEL", "ZSCORE a", "ZRANK a", "ZRANGE 0 -1 WITHSCORES", "ZCARD"},
	"stream": {"XADD id a v", "XADD id a v", "XADD id a v", "XADD MAXLEN m id a v", "XDEL id", "XTRIM MAXLEN m", "DEL",
		"XRANGE - +", "XRANGE - +", "XLEN"},
	"session": {"TURN.APPEND @ MSG v v", "TURN.APPEND @ MSG v v", "TURN.APPEND @ MSG v v", "TURN.FORK @ other",
		"TURN.FORK @ other", "TURN.FORK @ other AT m", "TURN.META @ SET a v", "TURN.META @ UNSET a",
		"TURN.EXPIRE @ PX 3600000", "TURN.EXPIRE @ NEVER", "TURN.DELETE @", "TURN.ERASE PREFIX all", "TURN.READ @",
		"TURN.READ @", "TURN.INFO @", "TURN.INFO @"},
	"renamed": {"TURN.APPEND @ MSG v v", "TURN.APPEND @ SET a v MSG v v", "TURN.APPEND @ EXISTING MSG v v",
		"TURN.APPEND @ EXISTING UNSET a MSG v v", "TURN.FORK @ other",
		"TURN.RENAME @ other", "TURN.RENAME @ other", "TURN.RENAME @ other REPLACE", "TURN.META @ SET a v",
		"TURN.EXPIRE @ PX 3600000", "TURN.EXPIRE @ NEVER", "TURN.DELETE @", "TURN.READ @ METADATA",
		"TURN.READ @ METADATA", "TURN.INFO @", "TURN.INFO @"},
	"labelled": {"TURN.APPEND @ MSG v v", "TURN.APPEND @ SET label.l a MSG v v", "TURN.META @ SET label.l a",
		"TURN.META @ SET label.l a",
		"TURN.META @ SET label.k a", "TURN.META @ UNSET label.l", "TURN.FORK @ other", "TURN.RENAME @ other REPLACE",
		"TURN.EXPIRE @ PX 3600000", "TURN.DELETE @", "TURN.LIST PREFIX all LABEL l a", "TURN.LIST PREFIX all LABEL l a",
		"TURN.LIST PREFIX all LABEL l a", "TURN.INFO @"},
	"edited": {"TURN.APPEND @e MSG v v", "TURN.APPEND @e MSG v v", "TURN.APPEND @e MSG a a", "TURN.APPEND @e MSG a a",
		"TURN.APPEND @e MSG a v", "TURN.EDIT @e SEQ m v", "TURN.EDIT @e SEQ m a", "TURN.EDIT @e ID a v",
		"TURN.REMOVE @e SEQ m", "TURN.REMOVE @e ID a", "TURN.RETAIN @e MESSAGES m", "TURN.RETAIN @e TURNS m",
		"TURN.RETAIN @e ALL",
		"TURN.READ @e", "TURN.READ @e", "TURN.INFO @e"},
	"sets": {"SADD @ a a", "SADD @ a v", "SADD @ v", "SREM @ a a", "DEL @", "SINTERSTORE @ other other",
		"SINTERSTORE @ @ other", "SUNIONSTORE @ other other", "SUNIONSTORE other @ other", "SDIFFSTORE @ other other",
		"SDIFFSTORE @ @ other", "RENAME @ other", "RENAMENX @ other", "SINTER @ other", "SUNION @ other",
		"SDIFF @ other", "SINTERCARD 2 @ other", "SMEMBERS @", "SMEMBERS @"},
	"string": {"SET m", "SET m NX", "SET m NX", "SET m XX", "SET m GET", "SETNX m", "INCRBY n", "INCRBY n", "GETDEL",
		"DEL", "GET", "GET"},
}

var asks = map[string]bool{"LRANGE": true, "LINDEX": true, "LLEN": true, "HGET": true, "HGETALL": true, "HLEN": true,
	"SISMEMBER": true, "SMEMBERS": true,
	"SINTER": true, "SUNION": true, "SDIFF": true, "SINTERCARD": true,
	"SCARD": true, "ZSCORE": true, "ZRANK": true, "ZRANGE": true, "ZCARD": true, "XRANGE": true, "XLEN": true,
	"GET": true}
