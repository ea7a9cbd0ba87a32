package redis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// generator makes commands.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from ...T) T { return from[g.IntN(len(from))] }

func (g generator) key() string {
	return pick(g, "a", "b", "b:1", "b:2", "list", "Ключ", "sp ace", "bin\x00\xff\r\n", "[x]*?")
}

func (g generator) value() string {
	switch g.IntN(8) {
	case 0:
		return ""
	case 1:
		return "\x00\xff\r\n$-1\r\n"
	case 2:
		return strings.Repeat("long ", g.IntN(2000))
	default:
		return fmt.Sprintf(`{"n":%d}`, g.IntN(1000))
	}
}

func (g generator) values() []string {
	vs := make([]string, 1+g.IntN(5))
	for i := range vs {
		vs[i] = g.value()
	}
	return vs
}

// index is mostly a small number, and sometimes anything.
func (g generator) index() string {
	if g.IntN(10) > 0 {
		return strconv.Itoa(g.IntN(24) - 12)
	}
	return pick(g, "0", "-1", "1", "100", "-100", "abc", "", "1.5", " 1", "1 ", "01", "+1", "-0", "0x1",
		"9223372036854775807", "-9223372036854775808", "9223372036854775806", "-9223372036854775807",
		"9223372036854775808", "2147483648")
}

func (g generator) command() []string {
	args := g.wellFormed()
	switch g.IntN(40) {
	case 0:
		args = args[:len(args)-1]
	case 1:
		if strings.HasSuffix(args[0], "RANK") {
			break // the Redis that is compared with is older than WITHSCORE
		}
		args = append(args, pick(g, "7", "x", "-1")) // not "": turnlog has no empty key
	}
	if len(args) == 0 {
		return []string{"PING"}
	}
	if g.IntN(4) == 0 {
		args[0] = strings.ToLower(args[0])
	}
	return args
}

// wellFormed makes a command, most of the time on a key that has its type.
func (g generator) wellFormed() []string {
	switch n := g.IntN(100); {
	case n < 24:
		return g.list(g.keyFor(g.key()))
	case n < 38:
		return g.text(g.keyFor(pick(g, "s1", "s2", "int")))
	case n < 50:
		return g.hash(g.keyFor(pick(g, "h1", "h2")))
	case n < 60:
		return g.set(g.keyFor(pick(g, "set1", "set2", "set3")))
	case n < 70:
		return g.scores(g.keyFor(pick(g, "z1", "z2")))
	case n < 80:
		return g.stream(g.keyFor(pick(g, "x1", "x2")))
	case n < 96:
		return g.generic(g.anyKey())
	default:
		return g.whole()
	}
}

func (g generator) keyFor(key string) string {
	if g.IntN(12) == 0 {
		return g.anyKey()
	}
	return key
}

func (g generator) anyKey() string {
	return pick(g, g.key(), "s1", "s2", "int", "h1", "h2", "set1", "set2", "set3", "z1", "z2", "x1", "x2", "new1",
		"new2")
}

func (g generator) list(key string) []string {
	switch n := g.IntN(100); {
	case n < 34:
		return append([]string{pick(g, "RPUSH", "LPUSH", "RPUSHX", "LPUSHX"), key}, g.values()...)
	case n < 50:
		return []string{"LRANGE", key, g.index(), g.index()}
	case n < 58:
		return []string{pick(g, "LPOP", "RPOP"), key}
	case n < 66:
		return []string{pick(g, "LPOP", "RPOP"), key, g.index()}
	case n < 73:
		return []string{"LINDEX", key, g.index()}
	case n < 79:
		return []string{"LTRIM", key, g.index(), g.index()}
	case n < 84:
		return []string{"LSET", key, g.index(), g.value()}
	case n < 90:
		return []string{"LINSERT", key, pick(g, "BEFORE", "after", "AFTER", "at"), g.value(), g.value()}
	case n < 92:
		return []string{"LREM", key, g.index(), g.value()}
	case n < 94:
		return []string{"LLEN", key}
	}
	return g.moving(key)
}

// moving makes commands that take from the first of several lists, or move an
// element; those that block do so for a millisecond.
func (g generator) moving(key string) []string {
	end := func() string { return pick(g, "LEFT", "RIGHT", "left", "right", "right", "LEFT", "MIDDLE") }
	block := func() string { return pick(g, "0.001", "0.001", "0.001", "-1", "abc", "0.001x") }
	switch g.IntN(6) {
	case 0:
		return []string{pick(g, "BLPOP", "BRPOP"), key, g.anyKey(), block()}
	case 1:
		args := []string{"LMPOP", pick(g, "2", "2", "2", "1", "0", "-1", "3", "x"), key, g.key(), end()}
		if g.IntN(2) == 0 {
			args = append(args, pick(g, "COUNT", "COUNT", "FOO"), pick(g, "2", "1", g.index()))
		}
		return args
	case 2:
		return []string{"BLMPOP", block(), "2", key, g.key(), end(), "COUNT", "2"}
	case 3:
		return []string{"LMOVE", key, pick(g, key, g.anyKey()), end(), end()}
	case 4:
		return []string{"RPOPLPUSH", key, pick(g, key, g.anyKey())}
	}
	return pick(g, []string{"BLMOVE", key, g.anyKey(), end(), end(), block()},
		[]string{"BRPOPLPUSH", key, g.anyKey(), block()})
}

func (g generator) integer() string {
	if g.IntN(6) > 0 {
		return strconv.Itoa(g.IntN(40) - 20)
	}
	return g.index()
}

func (g generator) text(key string) []string {
	switch n := g.IntN(100); {
	case n < 30:
		return g.setting(key)
	case n < 45:
		return []string{pick(g, "GET", "STRLEN", "GETDEL"), key}
	case n < 52:
		return g.getex(key)
	case n < 60:
		return []string{pick(g, "INCR", "DECR"), key}
	case n < 72:
		return []string{pick(g, "INCRBY", "DECRBY"), key, g.integer()}
	case n < 80:
		return []string{pick(g, "SETNX", "GETSET"), key, pick(g, g.value(), g.integer())}
	case n < 87:
		return []string{pick(g, "SETEX", "PSETEX"), key, g.duration(), g.value()}
	case n < 94:
		return []string{"MGET", key, g.anyKey(), g.anyKey()}
	}
	return []string{pick(g, "MSET", "MSETNX"), pick(g, key, "new1"), g.value(), pick(g, g.anyKey(), "new2"),
		g.integer()}
}

// duration is so long that nothing expires, or wrong.
func (g generator) duration() string {
	return pick(g, "1000000", "90000000", "1000000", "0", "-1", "abc", "", "1.5", "9223372036854775807",
		"9223372036854776", "9223372036854775808")
}

// timeOption is one that SET and GETEX have.
func (g generator) timeOption() []string {
	if g.IntN(2) == 0 {
		return []string{pick(g, "EX", "PX", "ex"), g.duration()}
	}
	at := time.Now().Add(time.Duration(g.IntN(100)+100) * time.Hour)
	return pick(g, []string{"EXAT", strconv.FormatInt(at.Unix(), 10)},
		[]string{"PXAT", strconv.FormatInt(at.UnixMilli(), 10)},
		[]string{"PXAT", "1"}, []string{"EXAT", "abc"}, []string{"EXAT", "0"})
}

func (g generator) getex(key string) []string {
	args := []string{"GETEX", key}
	for g.IntN(3) > 0 {
		if g.IntN(3) == 0 {
			args = append(args, pick(g, "PERSIST", "persist", "KEEPTTL", "EX"))
		} else {
			args = append(args, g.timeOption()...)
		}
	}
	return args
}

func (g generator) setting(key string) []string {
	args := []string{"SET", key, pick(g, g.value(), g.integer())}
	for g.IntN(2) == 0 {
		switch g.IntN(6) {
		case 0, 1:
			args = append(args, g.timeOption()...)
		default:
			args = append(args, pick(g, "NX", "XX", "GET", "KEEPTTL", "get", "FOO"))
		}
	}
	return args
}

func (g generator) field() string {
	return pick(g, "f1", "f2", "f3", "n", "", "Поле", "bin\x00\xff", strconv.Itoa(g.IntN(20)))
}

func (g generator) fieldsOf() []string {
	fs := make([]string, 1+g.IntN(4))
	for i := range fs {
		fs[i] = g.field()
	}
	return fs
}

func (g generator) pairs() []string {
	var out []string
	for _, f := range g.fieldsOf() {
		out = append(out, f, pick(g, g.value(), g.integer()))
	}
	return out
}

func (g generator) hash(key string) []string {
	switch n := g.IntN(100); {
	case n < 25:
		return append([]string{pick(g, "HSET", "HSET", "HMSET"), key}, g.pairs()...)
	case n < 32:
		return []string{"HSETNX", key, g.field(), g.value()}
	case n < 47:
		return []string{pick(g, "HGET", "HEXISTS", "HSTRLEN"), key, g.field()}
	case n < 55:
		return append([]string{"HMGET", key}, g.fieldsOf()...)
	case n < 72:
		return []string{pick(g, "HGETALL", "HKEYS", "HVALS", "HLEN"), key}
	case n < 82:
		return append([]string{"HDEL", key}, g.fieldsOf()...)
	case n < 93:
		return []string{"HINCRBY", key, pick(g, "n", "n", g.field()), g.integer()}
	}
	return g.scanning("HSCAN", key)
}

func (g generator) scanning(name, key string) []string {
	args := []string{name, key, pick(g, "0", "0", "0", "0", "abc", "1x")}
	for g.IntN(3) == 0 {
		args = append(args, pick(g,
			[][]string{{"MATCH", pick(g, "*", "f?", "[12]*", "zz")}, {"COUNT", pick(g, "1", "1000", g.index())},
				{"FOO"}, {"TYPE", "x"}}...)...)
	}
	return args
}

func (g generator) set(key string) []string {
	switch n := g.IntN(100); {
	case n < 35:
		return append([]string{"SADD", key}, g.fieldsOf()...)
	case n < 52:
		return append([]string{"SREM", key}, g.fieldsOf()...)
	case n < 66:
		return []string{pick(g, "SMEMBERS", "SCARD"), key}
	case n < 80:
		return []string{"SISMEMBER", key, g.field()}
	case n < 86:
		return append([]string{"SMISMEMBER", key}, g.fieldsOf()...)
	}
	if g.IntN(2) == 0 {
		return g.combining(key)
	}
	return g.scanning("SSCAN", key)
}

// combining makes commands that combine sets.
func (g generator) combining(key string) []string {
	sets := []string{key, pick(g, "set1", "set2", "set3", g.anyKey()), pick(g, "set1", "set2", "set3")}
	sets = sets[:1+g.IntN(3)]
	switch g.IntN(4) {
	case 0:
		args := append([]string{"SINTERCARD", pick(g, strconv.Itoa(len(sets)), "1", "2", g.index())}, sets...)
		if g.IntN(2) == 0 {
			args = append(args, pick(g, "LIMIT", "limit", "FOO"), pick(g, "1", "2", "0", g.index()))
		}
		return args
	case 1, 2:
		return append([]string{pick(g, "SINTER", "SUNION", "SDIFF")}, sets...)
	}
	return append([]string{pick(g, "SINTERSTORE", "SUNIONSTORE", "SDIFFSTORE"),
		pick(g, "set1", "set2", "set3", g.anyKey())},
		sets...)
}

func (g generator) score() string {
	switch g.IntN(10) {
	case 0:
		return pick(g, "inf", "-inf", "+inf", "abc", "", "nan", "1e300", "-1e300", "0x10", "1e-5", " 1", "1 ", "1_0",
			"3.14159265358979", "123456789012", "-0")
	case 1:
		return fmt.Sprint(g.Float64() * 100)
	}
	return strconv.FormatFloat(float64(g.IntN(40)-20)/2, 'f', -1, 64)
}

// bound is an end of a range of scores.
func (g generator) bound() string {
	return pick(g, "", "", "", "(") + pick(g, g.score(), g.score(), "-inf", "+inf")
}

func (g generator) nameEnd() string {
	return pick(g, "-", "+", "["+g.field(), "("+g.field(), "["+g.field(), g.field())
}

func (g generator) scores(key string) []string {
	switch n := g.IntN(100); {
	case n < 28:
		return g.zadd(key)
	case n < 33:
		return []string{"ZINCRBY", key, g.score(), g.field()}
	case n < 40:
		return append([]string{"ZREM", key}, g.fieldsOf()...)
	case n < 47:
		return g.takingScores(key)
	case n < 52:
		return []string{pick(g, "ZSCORE", "ZRANK", "ZREVRANK"), key, g.field()}
	case n < 56:
		return append([]string{"ZMSCORE", key}, g.fieldsOf()...)
	case n < 60:
		return []string{"ZCARD", key}
	case n < 66:
		return []string{"ZCOUNT", key, g.bound(), g.bound()}
	case n < 70:
		return g.scanning("ZSCAN", key)
	case n < 80:
		return g.ranging([]string{pick(g, "ZRANGE", "ZREVRANGE"), key, g.index(), g.index()})
	case n < 90:
		return g.ranging([]string{pick(g, "ZRANGEBYSCORE", "ZREVRANGEBYSCORE"), key, g.bound(), g.bound()})
	case n < 94:
		return g.ranging([]string{"ZRANGE", key, g.bound(), g.bound(), "BYSCORE"})
	}
	return g.named()
}

// takingScores makes commands that remove members of a sorted set by what they are like. Those
// by name are for members of one score: see named.
func (g generator) takingScores(key string) []string {
	switch g.IntN(4) {
	case 0:
		return []string{"ZREMRANGEBYRANK", key, g.index(), g.index()}
	case 1:
		return []string{"ZREMRANGEBYSCORE", key, g.bound(), g.bound()}
	}
	args := []string{pick(g, "ZPOPMIN", "ZPOPMAX"), key}
	if g.IntN(2) == 0 {
		args = append(args, pick(g, "0", "2", "3", g.index()))
	}
	return args
}

func (g generator) zadd(key string) []string {
	args := []string{"ZADD", key}
	for g.IntN(3) == 0 {
		args = append(args, pick(g, "NX", "XX", "GT", "LT", "CH", "INCR", "ch"))
	}
	for range 1 + g.IntN(3) {
		args = append(args, g.score(), g.field())
	}
	return args
}

// ranging adds options, but not BYLEX: see named.
func (g generator) ranging(args []string) []string {
	for g.IntN(2) == 0 {
		args = append(args, pick(g,
			[][]string{{"WITHSCORES"}, {"WITHSCORES"}, {"LIMIT", g.index(), g.index()}, {"LIMIT", "1", "2"}, {"REV"},
				{"BYSCORE"}, {"FOO"}}...)...)
	}
	return args
}

// named goes by names, in a set in which all scores are equal: only there is the
// result defined.
func (g generator) named() []string {
	const key = "lex"
	switch g.IntN(8) {
	case 0, 1, 2:
		return []string{"ZADD", key, "0", g.field(), "0", g.field()}
	case 3:
		return pick(g, []string{"ZREM", key, g.field()}, []string{"ZREMRANGEBYLEX", key, g.nameEnd(), g.nameEnd()})
	case 4:
		args := []string{"ZRANGE", key, g.nameEnd(), g.nameEnd(), "BYLEX"}
		for g.IntN(2) == 0 {
			args = append(args, pick(g,
				[][]string{{"REV"}, {"LIMIT", g.index(), g.index()}, {"LIMIT", "1", "2"}, {"WITHSCORES"}}...)...)
		}
		return args
	}
	args := []string{pick(g, "ZRANGEBYLEX", "ZREVRANGEBYLEX"), key, g.nameEnd(), g.nameEnd()}
	if g.IntN(3) == 0 {
		args = append(args, "LIMIT", g.index(), g.index())
	}
	return args
}

// entryID makes ids that rise on the whole, as the clock does.
func (g generator) entryID() string {
	ms := time.Since(firstEntry).Milliseconds()/10 + int64(g.IntN(4))
	return pick(g, fmt.Sprint(ms), fmt.Sprintf("%d-%d", ms, g.IntN(3)), fmt.Sprintf("%d-%d", g.IntN(100), g.IntN(3)))
}

// firstEntry is the zero of the ids of stream entries.
var firstEntry = time.Now()

func (g generator) streamEnd() string {
	return pick(g, "-", "+", g.entryID(), "("+g.entryID(), g.index())
}

func (g generator) stream(key string) []string {
	count := func(args []string) []string {
		if g.IntN(3) > 0 {
			args = append(args, "COUNT", pick(g, "1", "5", g.index()))
		}
		return args
	}
	switch n := g.IntN(100); {
	case n < 35:
		return g.xadd(key)
	case n < 50:
		return count([]string{pick(g, "XRANGE", "XREVRANGE"), key, g.streamEnd(), g.streamEnd()})
	case n < 58:
		return count([]string{"XRANGE", key, "-", "+"})
	case n < 64:
		return []string{"XLEN", key}
	case n < 72:
		return []string{"XDEL", key, g.entryID(), pick(g, g.entryID(), g.index())}
	case n < 82:
		return append([]string{"XTRIM", key}, g.trim()...)
	}
	args := []string{"XREAD"}
	if g.IntN(6) == 0 {
		args = append(args, "BLOCK", pick(g, "1", "1", "-1", "abc"))
	}
	args = count(args)
	return append(args, pick(g, "STREAMS", "STREAMS", "STREAMS", "STREAM"), key, pick(g, "x1", "x2"),
		pick(g, "0", "$", g.entryID(), g.index()), pick(g, "0", "0", g.entryID(), "$", ">"))
}

func (g generator) trim() []string {
	how := pick(g, [][]string{{"MAXLEN", g.index()}, {"MAXLEN", "=", "3"}, {"MINID", g.entryID()},
		{"MINID", "=", g.index()}, {"MAXLEN", "5"}}...)
	if g.IntN(8) == 0 {
		how = append(how, "LIMIT", pick(g, "0", "3", g.index()))
	}
	return how
}

func (g generator) xadd(key string) []string {
	args := []string{"XADD", key}
	if g.IntN(8) == 0 {
		args = append(args, "NOMKSTREAM")
	}
	if g.IntN(4) == 0 {
		args = append(args, g.trim()...)
	}
	id := g.entryID()
	if g.IntN(4) == 0 {
		id = pick(g, strings.Split(id, "-")[0]+"-*", "0-0", g.index(), id)
	}
	return append(append(args, id), g.pairs()...)
}

func (g generator) generic(key string) []string {
	switch n := g.IntN(36); {
	case n < 6:
		return []string{pick(g, "TYPE", "EXISTS"), key}
	case n < 12:
		return []string{pick(g, "DEL", "UNLINK", "EXISTS"), key, g.anyKey(), g.anyKey()}
	case n < 26:
		return g.expiry(key)
	case n < 29:
		return []string{pick(g, "RENAME", "RENAMENX"), key, pick(g, key, g.anyKey(), g.anyKey(), g.anyKey())}
	}
	return []string{pick(g, "TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME", "PERSIST"), key}
}

// whole makes commands that concern no key, or all.
func (g generator) whole() []string {
	switch n := g.IntN(8); {
	case n < 3:
		return []string{"KEYS", pick(g, "*", "b:*", "?", "[ab]", "[^a]*", `\[x\]*`, "b:[0-9]", "*\xff*", "")}
	case n < 5:
		return []string{pick(g, "DBSIZE", "PING", "ECHO", "NOSUCH"), pick(g, "x", "0x", "-1")}[:1+g.IntN(2)]
	case n < 6:
		return []string{"ECHO", g.value()}
	case n < 7:
		return []string{pick(g, "EXEC", "DISCARD", "UNWATCH")}
	}
	return []string{"FLUSHDB", pick(g, "SYNC", "ASYNC", "x")}
}

// queueable makes a command that may stand in a transaction.
func (g generator) queueable() []string {
	for {
		args := g.command()
		switch strings.ToUpper(args[0]) {
		case "KEYS", "FLUSHDB", "EXEC", "DISCARD", "UNWATCH":
			continue
		}
		return args
	}
}

// interference makes a command that changes a watched key for both sides or for
// none. To Redis, LTRIM that trims nothing is a change, and so is a string that
// has expired when it is set.
func (g generator) interference() []string {
	for {
		args := g.queueable()
		if !strings.EqualFold(args[0], "LTRIM") && !slices.Contains(args, "PXAT") {
			return args
		}
	}
}

// transaction makes MULTI … EXEC.
func (g generator) transaction() [][]string {
	block := [][]string{{"MULTI"}}
	for range g.IntN(8) {
		block = append(block, g.queueable())
	}
	switch g.IntN(12) {
	case 0:
		block = append(block, []string{pick(g, "MULTI", "WATCH"), "a"}[:1+g.IntN(2)], g.queueable())
	case 1:
		block = append(block, []string{"DISCARD"})
	}
	return append(block, []string{"EXEC"})
}

func (g generator) expiry(key string) []string {
	name := pick(g, "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT")
	// So many times that two hardly ever are so close that the order of their
	// deadlines depends on which server was quicker.
	seconds := int64(g.IntN(360_000) + 360_000)
	at := time.Now().Add(time.Duration(seconds) * time.Second)
	var when string
	switch {
	case g.IntN(6) == 0:
		when = pick(g, "0", "-1", "-1000", "abc", "", "1.5", "9223372036854775807", "-9223372036854775808",
			"9223372036854775", "-9223372036854776")
	case name == "EXPIRE":
		when = strconv.FormatInt(seconds, 10)
	case name == "PEXPIRE":
		when = strconv.FormatInt(seconds*1000, 10)
	case name == "EXPIREAT":
		when = strconv.FormatInt(at.Unix(), 10)
	default:
		when = strconv.FormatInt(at.UnixMilli(), 10)
	}
	args := []string{name, key, when}
	for g.IntN(3) == 0 {
		args = append(args, pick(g, "NX", "XX", "GT", "LT", "nx", "FOO"))
	}
	return args
}
