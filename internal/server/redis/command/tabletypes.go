package command

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

func stringCommands() []Command {
	one := keySpec{1, 1, 1}
	return []Command{
		{Name: "get", Arity: 2, flags: "readonly fast", keys: one, group: "string", since: "1.0.0", Handle: get,
			Args: "key", summary: "The string of a key."},
		{Name: "set", Arity: -3, flags: "write denyoom", keys: one, group: "string", since: "1.0.0", Handle: set,
			Args: "key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT " +
				"unix-time-milliseconds|KEEPTTL]",
			summary: "Set a key to a string, whatever it held before. GET: return the previous string."},
		{Name: "setex", Arity: 4, flags: "write denyoom", keys: one, group: "string", since: "2.0.0",
			Handle: setFor(1000, "setex"), Args: "key seconds value", summary: "SET with EX."},
		{Name: "psetex", Arity: 4, flags: "write denyoom", keys: one, group: "string", since: "2.6.0",
			Handle: setFor(1, "psetex"), Args: "key milliseconds value", summary: "SET with PX."},
		{Name: "setnx", Arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0",
			Handle: setNew, Args: "key value", summary: "SET with NX; return 1 if it did, else 0."},
		{Name: "getset", Arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0",
			Handle: getSet, Args: "key value", summary: "SET with GET."},
		{Name: "getdel", Arity: 2, flags: "write fast", keys: one, group: "string", since: "6.2.0", Handle: getDel,
			Args: "key", summary: "The string of a key, which is deleted."},
		{Name: "mget", Arity: -2, flags: "readonly fast", keys: keySpec{1, -1, 1}, tips: "request_policy:multi_shard",
			group: "string", since: "1.0.0", Handle: mget, Args: "key [key ...]",
			summary: "The strings of keys, each read separately."},
		{Name: "mset", Arity: -3, flags: "write denyoom", keys: keySpec{1, -1, 2},
			tips: "request_policy:multi_shard response_policy:all_succeeded", group: "string", since: "1.0.1",
			Handle: mset, Args: "key value [key value ...]", summary: "SET several keys at once."},
		{Name: "msetnx", Arity: -3, flags: "write denyoom", keys: keySpec{1, -1, 2},
			tips: "request_policy:multi_shard response_policy:agg_min", group: "string", since: "1.0.1", Handle: msetnx,
			Args: "key value [key value ...]", summary: "MSET if none of the keys exists; return 1 if it did, else 0."},
		{Name: "strlen", Arity: 2, flags: "readonly fast", keys: one, group: "string", since: "2.2.0", Handle: strlen,
			Args: "key", summary: "The length of a string."},
		{Name: "incr", Arity: 2, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0",
			Handle: add(1), Args: "key", summary: "Add 1 to an integer."},
		{Name: "decr", Arity: 2, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0",
			Handle: add(-1), Args: "key", summary: "Subtract 1 from an integer."},
		{Name: "incrby", Arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0",
			Handle: add(1), Args: "key increment", summary: "Add to an integer."},
		{Name: "decrby", Arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0",
			Handle: add(-1), Args: "key decrement", summary: "Subtract from an integer."},
	}
}

func hashCommands() []Command {
	one := keySpec{1, 1, 1}
	return []Command{
		{Name: "hset", Arity: -4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0",
			Handle: hset(sayNumber), Args: "key field value [field value ...]",
			summary: "Set fields; return how many are new."},
		{Name: "hmset", Arity: -4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0",
			Handle: hset(sayOK), Args: "key field value [field value ...]", summary: "HSET that returns OK."},
		{Name: "hsetnx", Arity: 4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0",
			Handle: hsetnx, Args: "key field value", summary: "Set a field if it does not exist."},
		{Name: "hget", Arity: 3, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0",
			Handle: lookUp(turn.TypeHash, false, oneValue), Args: "key field", summary: "The value of a field."},
		{Name: "hmget", Arity: -3, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0",
			Handle: lookUp(turn.TypeHash, true, oneValue), Args: "key field [field ...]",
			summary: "The values of fields."},
		{Name: "hgetall", Arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "hash",
			since: "2.0.0", Handle: allOf(turn.TypeHash, (*resp.Writer).Map, oneBoth), Args: "key",
			summary: "All fields and their values."},
		{Name: "hdel", Arity: -3, flags: "write fast", keys: one, group: "hash", since: "2.0.0",
			Handle: removeNamed(turn.TypeHash), Args: "key field [field ...]",
			summary: "Remove fields; return how many there were."},
		{Name: "hexists", Arity: 3, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0",
			Handle: lookUp(turn.TypeHash, false, onePresence), Args: "key field", summary: "Whether a field exists."},
		{Name: "hlen", Arity: 2, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0",
			Handle: sizeOf(turn.TypeHash), Args: "key", summary: "The number of fields."},
		{Name: "hstrlen", Arity: 3, flags: "readonly fast", keys: one, group: "hash", since: "3.2.0",
			Handle: lookUp(turn.TypeHash, false, oneLength), Args: "key field",
			summary: "The length of a field's value."},
		{Name: "hkeys", Arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "hash",
			since: "2.0.0", Handle: allOf(turn.TypeHash, (*resp.Writer).Array, oneName), Args: "key",
			summary: "All fields."},
		{Name: "hvals", Arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "hash",
			since: "2.0.0", Handle: allOf(turn.TypeHash, (*resp.Writer).Array, oneValue), Args: "key",
			summary: "The values of all fields."},
		{Name: "hincrby", Arity: 4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0",
			Handle: hincrby, Args: "key field increment", summary: "Add to a field that is an integer."},
		{Name: "hscan", Arity: -3, flags: "readonly", keys: one, tips: "nondeterministic_output", group: "hash",
			since: "2.8.0", Handle: scanOf(turn.TypeHash, 2, oneBoth), Args: "key cursor [MATCH pattern] [COUNT count]",
			summary: "Iterate over the fields in steps."},
	}
}

func setCommands() []Command {
	one := keySpec{1, 1, 1}
	return []Command{
		{Name: "sadd", Arity: -3, flags: "write denyoom fast", keys: one, group: "set", since: "1.0.0", Handle: sadd,
			Args: "key member [member ...]", summary: "Add members; return how many are new."},
		{Name: "srem", Arity: -3, flags: "write fast", keys: one, group: "set", since: "1.0.0",
			Handle: removeNamed(turn.TypeSet), Args: "key member [member ...]",
			summary: "Remove members; return how many there were."},
		{Name: "smembers", Arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "set",
			since: "1.0.0", Handle: allOf(turn.TypeSet, (*resp.Writer).Set, oneName), Args: "key",
			summary: "All members."},
		{Name: "sismember", Arity: 3, flags: "readonly fast", keys: one, group: "set", since: "1.0.0",
			Handle: lookUp(turn.TypeSet, false, onePresence), Args: "key member", summary: "Whether it is a member."},
		{Name: "smismember", Arity: -3, flags: "readonly fast", keys: one, group: "set", since: "6.2.0",
			Handle: lookUp(turn.TypeSet, true, onePresence), Args: "key member [member ...]",
			summary: "Which of them are members."},
		{Name: "scard", Arity: 2, flags: "readonly fast", keys: one, group: "set", since: "1.0.0",
			Handle: sizeOf(turn.TypeSet), Args: "key", summary: "The number of members."},
		{Name: "sscan", Arity: -3, flags: "readonly", keys: one, tips: "nondeterministic_output", group: "set",
			since: "2.8.0", Handle: scanOf(turn.TypeSet, 1, oneName), Args: "key cursor [MATCH pattern] [COUNT count]",
			summary: "Iterate over the members in steps."},
	}
}

func transactionCommands() []Command {
	return []Command{
		{Name: "multi", Arity: 1, flags: "noscript loading stale fast allow_busy", group: "transactions",
			since: "1.2.0", Conn: true, summary: "Begin a transaction; the commands that follow are queued."},
		{Name: "exec", Arity: 1, flags: "noscript loading stale skip_slowlog", group: "transactions", since: "1.2.0",
			Conn: true, summary: "Execute the queued commands as one log entry, or none of them if a watched " +
				"key has changed."},
		{Name: "discard", Arity: 1, flags: "noscript loading stale fast allow_busy", group: "transactions",
			since: "2.0.0", Conn: true, summary: "Discard the queued commands."},
		{Name: "watch", Arity: -2, flags: "noscript loading stale fast allow_busy", keys: keySpec{1, -1, 1},
			group: "transactions", since: "2.2.0", Conn: true, Args: "key [key ...]",
			summary: "Make EXEC do nothing if one of the keys changes before it."},
		{Name: "unwatch", Arity: 1, flags: "noscript loading stale fast allow_busy", group: "transactions",
			since: "2.2.0", Conn: true, summary: "Stop watching all keys."},
	}
}

func scoreCommands() []Command {
	one := keySpec{1, 1, 1}
	return []Command{
		{Name: "zadd", Arity: -4, flags: "write denyoom fast", keys: one, group: "sorted-set", since: "1.2.0",
			Handle: zadd, Args: "key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]",
			summary: "Add members, or change their scores."},
		{Name: "zincrby", Arity: 4, flags: "write denyoom fast", keys: one, group: "sorted-set", since: "1.2.0",
			Handle: zincrby, Args: "key increment member", summary: "Add to the score of a member."},
		{Name: "zrem", Arity: -3, flags: "write fast", keys: one, group: "sorted-set", since: "1.2.0",
			Handle: removeNamed(turn.TypeZSet), Args: "key member [member ...]",
			summary: "Remove members; return how many there were."},
		{Name: "zscore", Arity: 3, flags: "readonly fast", keys: one, group: "sorted-set", since: "1.2.0",
			Handle: lookUp(turn.TypeZSet, false, oneScore), Args: "key member", summary: "The score of a member."},
		{Name: "zmscore", Arity: -3, flags: "readonly fast", keys: one, group: "sorted-set", since: "6.2.0",
			Handle: lookUp(turn.TypeZSet, true, oneScore), Args: "key member [member ...]",
			summary: "The scores of members."},
		{Name: "zcard", Arity: 2, flags: "readonly fast", keys: one, group: "sorted-set", since: "1.2.0",
			Handle: sizeOf(turn.TypeZSet), Args: "key", summary: "The number of members."},
		{Name: "zcount", Arity: 4, flags: "readonly fast", keys: one, group: "sorted-set", since: "2.0.0",
			Handle: zcount, Args: "key min max", summary: "The number of members with scores from min to max."},
		{Name: "zrank", Arity: -3, flags: "readonly fast", keys: one, group: "sorted-set", since: "2.0.0",
			Handle: zrank("zrank", false), Args: "key member [WITHSCORE]",
			summary: "The rank of a member, from the lowest score, and its score."},
		{Name: "zrevrank", Arity: -3, flags: "readonly fast", keys: one, group: "sorted-set", since: "2.0.0",
			Handle: zrank("zrevrank", true), Args: "key member [WITHSCORE]",
			summary: "The rank of a member, from the highest score, and its score."},
		{Name: "zrange", Arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "1.2.0",
			Handle:  zrange(turn.ByRank, false, true),
			Args:    "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
			summary: "The members in a range of ranks, scores or names."},
		{Name: "zrevrange", Arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "1.2.0",
			Handle: zrange(turn.ByRank, true, false), Args: "key start stop [WITHSCORES]", summary: "ZRANGE with REV."},
		{Name: "zrangebyscore", Arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "1.0.5",
			Handle: zrange(turn.ByScore, false, false), Args: "key min max [WITHSCORES] [LIMIT offset count]",
			summary: "ZRANGE with BYSCORE."},
		{Name: "zrevrangebyscore", Arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "2.2.0",
			Handle: zrange(turn.ByScore, true, false), Args: "key max min [WITHSCORES] [LIMIT offset count]",
			summary: "ZRANGE with BYSCORE and REV."},
		{Name: "zrangebylex", Arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "2.8.9",
			Handle: zrange(turn.ByName, false, false), Args: "key min max [LIMIT offset count]",
			summary: "ZRANGE with BYLEX."},
		{Name: "zrevrangebylex", Arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "2.8.9",
			Handle: zrange(turn.ByName, true, false), Args: "key max min [LIMIT offset count]",
			summary: "ZRANGE with BYLEX and REV."},
		{Name: "zscan", Arity: -3, flags: "readonly", keys: one, tips: "nondeterministic_output", group: "sorted-set",
			since: "2.8.0", Handle: scanOf(turn.TypeZSet, 2, oneRanked),
			Args:    "key cursor [MATCH pattern] [COUNT count]",
			summary: "Iterate over the members in steps, in the order of names."},
	}
}

func streamCommands() []Command {
	one := keySpec{1, 1, 1}
	return []Command{
		{Name: "xadd", Arity: -5, flags: "write denyoom fast", keys: one, tips: "nondeterministic_output",
			group: "stream", since: "5.0.0", Handle: xadd,
			Args:    "key [NOMKSTREAM] [MAXLEN|MINID [=|~] threshold [LIMIT count]] *|id field value [field value ...]",
			summary: "Append an entry; return its id."},
		{Name: "xlen", Arity: 2, flags: "readonly fast", keys: one, group: "stream", since: "5.0.0",
			Handle: sizeOf(turn.TypeStream), Args: "key", summary: "The number of entries."},
		{Name: "xrange", Arity: -4, flags: "readonly", keys: one, group: "stream", since: "5.0.0",
			Handle: xrange(false), Args: "key start end [COUNT count]",
			summary: "The entries with ids from start to end."},
		{Name: "xrevrange", Arity: -4, flags: "readonly", keys: one, group: "stream", since: "5.0.0",
			Handle: xrange(true), Args: "key end start [COUNT count]", summary: "The same, the highest id first."},
		{Name: "xdel", Arity: -3, flags: "write fast", keys: one, group: "stream", since: "5.0.0", Handle: xdel,
			Args: "key id [id ...]", summary: "Remove entries; return how many there were."},
		{Name: "xtrim", Arity: -4, flags: "write", keys: one, tips: "nondeterministic_output", group: "stream",
			since: "5.0.0", Handle: xtrim, Args: "key MAXLEN|MINID [=|~] threshold [LIMIT count]",
			summary: "Remove the oldest entries; return how many."},
		{Name: "xread", Arity: -4, flags: "readonly blocking movablekeys", movable: streamKeys, group: "stream",
			since: "5.0.0", Handle: xread, Args: "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
			summary: "The entries after an id of each stream, waiting for them up to BLOCK."},
	}
}
