package redis

import (
	"github.com/turnlog/turnlog/internal/resp"
	"github.com/turnlog/turnlog/turn"
)

func stringCommands() []command {
	one := keySpec{1, 1, 1}
	return []command{
		{name: "get", arity: 2, flags: "readonly fast", keys: one, group: "string", since: "1.0.0", handle: get, args: "key", summary: "The string of a key."},
		{name: "set", arity: -3, flags: "write denyoom", keys: one, group: "string", since: "1.0.0", handle: set, args: "key value [NX|XX] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]", summary: "Give a key a string, whatever it held before. GET: answer the string before."},
		{name: "setex", arity: 4, flags: "write denyoom", keys: one, group: "string", since: "2.0.0", handle: setFor(1000, "setex"), args: "key seconds value", summary: "SET with EX."},
		{name: "psetex", arity: 4, flags: "write denyoom", keys: one, group: "string", since: "2.6.0", handle: setFor(1, "psetex"), args: "key milliseconds value", summary: "SET with PX."},
		{name: "setnx", arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0", handle: setNew, args: "key value", summary: "SET with NX; answer 1 if it did, else 0."},
		{name: "getset", arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0", handle: getSet, args: "key value", summary: "SET with GET."},
		{name: "getdel", arity: 2, flags: "write fast", keys: one, group: "string", since: "6.2.0", handle: getDel, args: "key", summary: "The string of a key, which is deleted."},
		{name: "mget", arity: -2, flags: "readonly fast", keys: keySpec{1, -1, 1}, tips: "request_policy:multi_shard", group: "string", since: "1.0.0", handle: mget, args: "key [key ...]", summary: "The strings of keys, each read for itself."},
		{name: "mset", arity: -3, flags: "write denyoom", keys: keySpec{1, -1, 2}, tips: "request_policy:multi_shard response_policy:all_succeeded", group: "string", since: "1.0.1", handle: mset, args: "key value [key value ...]", summary: "SET several keys at once."},
		{name: "msetnx", arity: -3, flags: "write denyoom", keys: keySpec{1, -1, 2}, tips: "request_policy:multi_shard response_policy:agg_min", group: "string", since: "1.0.1", handle: msetnx, args: "key value [key value ...]", summary: "MSET if none of the keys exists; answer 1 if it did, else 0."},
		{name: "strlen", arity: 2, flags: "readonly fast", keys: one, group: "string", since: "2.2.0", handle: strlen, args: "key", summary: "The length of a string."},
		{name: "incr", arity: 2, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0", handle: add(1), args: "key", summary: "Add 1 to an integer."},
		{name: "decr", arity: 2, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0", handle: add(-1), args: "key", summary: "Subtract 1 from an integer."},
		{name: "incrby", arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0", handle: add(1), args: "key increment", summary: "Add to an integer."},
		{name: "decrby", arity: 3, flags: "write denyoom fast", keys: one, group: "string", since: "1.0.0", handle: add(-1), args: "key decrement", summary: "Subtract from an integer."},
	}
}

func hashCommands() []command {
	one := keySpec{1, 1, 1}
	return []command{
		{name: "hset", arity: -4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0", handle: hset(sayNumber), args: "key field value [field value ...]", summary: "Set fields; answer how many are new."},
		{name: "hmset", arity: -4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0", handle: hset(sayOK), args: "key field value [field value ...]", summary: "HSET with the answer OK."},
		{name: "hsetnx", arity: 4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0", handle: hsetnx, args: "key field value", summary: "Set a field if it does not exist."},
		{name: "hget", arity: 3, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0", handle: lookUp(turn.TypeHash, false, oneValue), args: "key field", summary: "The value of a field."},
		{name: "hmget", arity: -3, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0", handle: lookUp(turn.TypeHash, true, oneValue), args: "key field [field ...]", summary: "The values of fields."},
		{name: "hgetall", arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "hash", since: "2.0.0", handle: allOf(turn.TypeHash, (*resp.Writer).Map, oneBoth), args: "key", summary: "All fields and their values."},
		{name: "hdel", arity: -3, flags: "write fast", keys: one, group: "hash", since: "2.0.0", handle: removeNamed(turn.TypeHash), args: "key field [field ...]", summary: "Remove fields; answer how many there were."},
		{name: "hexists", arity: 3, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0", handle: lookUp(turn.TypeHash, false, onePresence), args: "key field", summary: "Whether a field exists."},
		{name: "hlen", arity: 2, flags: "readonly fast", keys: one, group: "hash", since: "2.0.0", handle: sizeOf(turn.TypeHash), args: "key", summary: "The number of fields."},
		{name: "hstrlen", arity: 3, flags: "readonly fast", keys: one, group: "hash", since: "3.2.0", handle: lookUp(turn.TypeHash, false, oneLength), args: "key field", summary: "The length of a field's value."},
		{name: "hkeys", arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "hash", since: "2.0.0", handle: allOf(turn.TypeHash, (*resp.Writer).Array, oneName), args: "key", summary: "All fields."},
		{name: "hvals", arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "hash", since: "2.0.0", handle: allOf(turn.TypeHash, (*resp.Writer).Array, oneValue), args: "key", summary: "The values of all fields."},
		{name: "hincrby", arity: 4, flags: "write denyoom fast", keys: one, group: "hash", since: "2.0.0", handle: hincrby, args: "key field increment", summary: "Add to a field that is an integer."},
		{name: "hscan", arity: -3, flags: "readonly", keys: one, tips: "nondeterministic_output", group: "hash", since: "2.8.0", handle: scanOf(turn.TypeHash, 2, oneBoth), args: "key cursor [MATCH pattern] [COUNT count]", summary: "Go through the fields in steps."},
	}
}

func setCommands() []command {
	one := keySpec{1, 1, 1}
	return []command{
		{name: "sadd", arity: -3, flags: "write denyoom fast", keys: one, group: "set", since: "1.0.0", handle: sadd, args: "key member [member ...]", summary: "Add members; answer how many are new."},
		{name: "srem", arity: -3, flags: "write fast", keys: one, group: "set", since: "1.0.0", handle: removeNamed(turn.TypeSet), args: "key member [member ...]", summary: "Remove members; answer how many there were."},
		{name: "smembers", arity: 2, flags: "readonly", keys: one, tips: "nondeterministic_output_order", group: "set", since: "1.0.0", handle: allOf(turn.TypeSet, (*resp.Writer).Set, oneName), args: "key", summary: "All members."},
		{name: "sismember", arity: 3, flags: "readonly fast", keys: one, group: "set", since: "1.0.0", handle: lookUp(turn.TypeSet, false, onePresence), args: "key member", summary: "Whether it is a member."},
		{name: "smismember", arity: -3, flags: "readonly fast", keys: one, group: "set", since: "6.2.0", handle: lookUp(turn.TypeSet, true, onePresence), args: "key member [member ...]", summary: "Which of them are members."},
		{name: "scard", arity: 2, flags: "readonly fast", keys: one, group: "set", since: "1.0.0", handle: sizeOf(turn.TypeSet), args: "key", summary: "The number of members."},
		{name: "sscan", arity: -3, flags: "readonly", keys: one, tips: "nondeterministic_output", group: "set", since: "2.8.0", handle: scanOf(turn.TypeSet, 1, oneName), args: "key cursor [MATCH pattern] [COUNT count]", summary: "Go through the members in steps."},
	}
}

func transactionCommands() []command {
	return []command{
		{name: "multi", arity: 1, flags: "noscript loading stale fast allow_busy", group: "transactions", since: "1.2.0", handle: multi, summary: "Begin a transaction: what follows is queued."},
		{name: "exec", arity: 1, flags: "noscript loading stale skip_slowlog", group: "transactions", since: "1.2.0", handle: execute, summary: "Do what is queued: one log entry, all of it or, if a watched key has changed, nothing."},
		{name: "discard", arity: 1, flags: "noscript loading stale fast allow_busy", group: "transactions", since: "2.0.0", handle: discard, summary: "Forget what is queued."},
		{name: "watch", arity: -2, flags: "noscript loading stale fast allow_busy", keys: keySpec{1, -1, 1}, group: "transactions", since: "2.2.0", handle: watch, args: "key [key ...]", summary: "Let EXEC do nothing if one of the keys changes until then."},
		{name: "unwatch", arity: 1, flags: "noscript loading stale fast allow_busy", group: "transactions", since: "2.2.0", handle: unwatch, summary: "Watch no key any more."},
	}
}

func scoreCommands() []command {
	one := keySpec{1, 1, 1}
	return []command{
		{name: "zadd", arity: -4, flags: "write denyoom fast", keys: one, group: "sorted-set", since: "1.2.0", handle: zadd, args: "key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]", summary: "Add members, or give them other scores."},
		{name: "zincrby", arity: 4, flags: "write denyoom fast", keys: one, group: "sorted-set", since: "1.2.0", handle: zincrby, args: "key increment member", summary: "Add to the score of a member."},
		{name: "zrem", arity: -3, flags: "write fast", keys: one, group: "sorted-set", since: "1.2.0", handle: removeNamed(turn.TypeZSet), args: "key member [member ...]", summary: "Remove members; answer how many there were."},
		{name: "zscore", arity: 3, flags: "readonly fast", keys: one, group: "sorted-set", since: "1.2.0", handle: lookUp(turn.TypeZSet, false, oneScore), args: "key member", summary: "The score of a member."},
		{name: "zmscore", arity: -3, flags: "readonly fast", keys: one, group: "sorted-set", since: "6.2.0", handle: lookUp(turn.TypeZSet, true, oneScore), args: "key member [member ...]", summary: "The scores of members."},
		{name: "zcard", arity: 2, flags: "readonly fast", keys: one, group: "sorted-set", since: "1.2.0", handle: sizeOf(turn.TypeZSet), args: "key", summary: "The number of members."},
		{name: "zcount", arity: 4, flags: "readonly fast", keys: one, group: "sorted-set", since: "2.0.0", handle: zcount, args: "key min max", summary: "The number of members with scores from min to max."},
		{name: "zrank", arity: -3, flags: "readonly fast", keys: one, group: "sorted-set", since: "2.0.0", handle: zrank("zrank", false), args: "key member [WITHSCORE]", summary: "The rank of a member, from the lowest score, and its score."},
		{name: "zrevrank", arity: -3, flags: "readonly fast", keys: one, group: "sorted-set", since: "2.0.0", handle: zrank("zrevrank", true), args: "key member [WITHSCORE]", summary: "The rank of a member, from the highest score, and its score."},
		{name: "zrange", arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "1.2.0", handle: zrange(turn.ByRank, false, true), args: "key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]", summary: "The members in a range of ranks, scores or names."},
		{name: "zrevrange", arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "1.2.0", handle: zrange(turn.ByRank, true, false), args: "key start stop [WITHSCORES]", summary: "ZRANGE with REV."},
		{name: "zrangebyscore", arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "1.0.5", handle: zrange(turn.ByScore, false, false), args: "key min max [WITHSCORES] [LIMIT offset count]", summary: "ZRANGE with BYSCORE."},
		{name: "zrevrangebyscore", arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "2.2.0", handle: zrange(turn.ByScore, true, false), args: "key max min [WITHSCORES] [LIMIT offset count]", summary: "ZRANGE with BYSCORE and REV."},
		{name: "zrangebylex", arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "2.8.9", handle: zrange(turn.ByName, false, false), args: "key min max [LIMIT offset count]", summary: "ZRANGE with BYLEX."},
		{name: "zrevrangebylex", arity: -4, flags: "readonly", keys: one, group: "sorted-set", since: "2.8.9", handle: zrange(turn.ByName, true, false), args: "key max min [LIMIT offset count]", summary: "ZRANGE with BYLEX and REV."},
		{name: "zscan", arity: -3, flags: "readonly", keys: one, tips: "nondeterministic_output", group: "sorted-set", since: "2.8.0", handle: scanOf(turn.TypeZSet, 2, oneRanked), args: "key cursor [MATCH pattern] [COUNT count]", summary: "Go through the members in steps, in the order of names."},
	}
}

func streamCommands() []command {
	one := keySpec{1, 1, 1}
	return []command{
		{name: "xadd", arity: -5, flags: "write denyoom fast", keys: one, tips: "nondeterministic_output", group: "stream", since: "5.0.0", handle: xadd, args: "key [NOMKSTREAM] [MAXLEN|MINID [=|~] threshold [LIMIT count]] *|id field value [field value ...]", summary: "Append an entry; answer its id."},
		{name: "xlen", arity: 2, flags: "readonly fast", keys: one, group: "stream", since: "5.0.0", handle: sizeOf(turn.TypeStream), args: "key", summary: "The number of entries."},
		{name: "xrange", arity: -4, flags: "readonly", keys: one, group: "stream", since: "5.0.0", handle: xrange(false), args: "key start end [COUNT count]", summary: "The entries with ids from start to end."},
		{name: "xrevrange", arity: -4, flags: "readonly", keys: one, group: "stream", since: "5.0.0", handle: xrange(true), args: "key end start [COUNT count]", summary: "The same, the highest id first."},
		{name: "xdel", arity: -3, flags: "write fast", keys: one, group: "stream", since: "5.0.0", handle: xdel, args: "key id [id ...]", summary: "Remove entries; answer how many there were."},
		{name: "xtrim", arity: -4, flags: "write", keys: one, tips: "nondeterministic_output", group: "stream", since: "5.0.0", handle: xtrim, args: "key MAXLEN|MINID [=|~] threshold [LIMIT count]", summary: "Remove the oldest entries; answer how many."},
		{name: "xread", arity: -4, flags: "readonly blocking movablekeys", movable: streamKeys, group: "stream", since: "5.0.0", handle: xread, args: "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]", summary: "The entries after an id of each stream, waiting for them up to BLOCK."},
	}
}
