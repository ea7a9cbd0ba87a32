package command

import "github.com/turnlog/turnlog/turn"

// commands returns the table. It is made for each Server, so that nothing is
// shared.
func commands() []Command {
	var all []Command
	for _, tier := range []struct {
		name string
		rows []Command
	}{
		{"Connection and server", onServer(connectionCommands())},
		{"Keys", keyCommands()},
		{"Strings", stringCommands()},
		{"Lists", listCommands()},
		{"Hashes", hashCommands()},
		{"Sets", setCommands()},
		{"Sorted sets", scoreCommands()},
		{"Streams", streamCommands()},
		{"Transactions", onServer(transactionCommands())},
		{"Publishing", pubsubCommands()},
		{"turnlog", turnCommands()},
	} {
		for _, cmd := range tier.rows {
			cmd.tier = tier.name
			cmd.Native = cmd.group == "turn"
			all = append(all, cmd)
		}
	}
	return all
}

// onServer says of commands without keys, and subcommands, that they get at nothing
// but the server, unless they say otherwise.
func onServer(rows []Command) []Command {
	for i := range rows {
		cmd := &rows[i]
		if cmd.Scope == ScopeUnstated && cmd.keys.first == 0 {
			cmd.Scope = ScopeServer
		}
		onServer(cmd.subs)
	}
	return rows
}

const (
	always     = "loading stale fast"
	handshake  = "noscript loading stale fast no_auth allow_busy"
	subcommand = "noscript loading stale"
	adminOnly  = "admin noscript loading stale"

	unsteady  = "nondeterministic_output"
	unordered = "nondeterministic_output_order"
)

func keyCommands() []Command {
	one, all := keySpec{1, 1, 1}, keySpec{1, -1, 1}
	const multi = "request_policy:multi_shard response_policy:agg_sum"
	const conditions = " [NX|XX|GT|LT]"
	return []Command{
		{Name: "del", Arity: -2, flags: "write", keys: all, tips: multi, group: "generic", since: "1.0.0", Handle: del,
			Args: "key [key ...]", summary: "Delete keys; return how many there were."},
		{Name: "unlink", Arity: -2, flags: "write fast", keys: all, tips: multi, group: "generic", since: "4.0.0",
			Handle: del, Args: "key [key ...]", summary: "The same as DEL."},
		{Name: "exists", Arity: -2, flags: "readonly fast", keys: all, tips: multi, group: "generic", since: "1.0.0",
			Handle: existing, Args: "key [key ...]", summary: "How many of the keys exist."},
		{Name: "type", Arity: 2, flags: "readonly fast", keys: one, group: "generic", since: "1.0.0", Handle: typeOf,
			Args: "key", summary: "list, string, hash, set, zset, stream, or none."},
		{Name: "expire", Arity: -3, flags: "write fast", keys: one, group: "generic", since: "1.0.0",
			Handle: expire(1000, false), Args: "key seconds" + conditions,
			summary: "Make a key expire after that time."},
		{Name: "pexpire", Arity: -3, flags: "write fast", keys: one, group: "generic", since: "2.6.0",
			Handle: expire(1, false), Args: "key milliseconds" + conditions,
			summary: "Make a key expire after that time."},
		{Name: "expireat", Arity: -3, flags: "write fast", keys: one, group: "generic", since: "1.2.0",
			Handle: expire(1000, true), Args: "key unix-time-seconds" + conditions,
			summary: "Make a key expire at that time."},
		{Name: "pexpireat", Arity: -3, flags: "write fast", keys: one, group: "generic", since: "2.6.0",
			Handle: expire(1, true), Args: "key unix-time-milliseconds" + conditions,
			summary: "Make a key expire at that time."},
		{Name: "ttl", Arity: 2, flags: "readonly fast", keys: one, tips: unsteady, group: "generic", since: "1.0.0",
			Handle: ttl(1000, false), Args: "key", summary: "Seconds until a key expires; -1: never; -2: no such key."},
		{Name: "pttl", Arity: 2, flags: "readonly fast", keys: one, tips: unsteady, group: "generic", since: "2.6.0",
			Handle: ttl(1, false), Args: "key", summary: "TTL in milliseconds."},
		{Name: "expiretime", Arity: 2, flags: "readonly fast", keys: one, group: "generic", since: "7.0.0",
			Handle: ttl(1000, true), Args: "key",
			summary: "When a key expires, in Unix seconds; -1: never; -2: no such key."},
		{Name: "pexpiretime", Arity: 2, flags: "readonly fast", keys: one, group: "generic", since: "7.0.0",
			Handle: ttl(1, true), Args: "key", summary: "EXPIRETIME in milliseconds."},
		{Name: "persist", Arity: 2, flags: "write fast", keys: one, group: "generic", since: "2.2.0", Handle: persist,
			Args: "key", summary: "Remove the deadline of a key."},
		{Name: "rename", Arity: 3, flags: "write", keys: keySpec{1, 2, 1}, group: "generic", since: "1.0.0",
			Handle: rename(true), Args: "key newkey", summary: "Rename a key, in place of what newkey held."},
		{Name: "renamenx", Arity: 3, flags: "write fast", keys: keySpec{1, 2, 1}, group: "generic", since: "1.0.0",
			Handle: rename(false), Args: "key newkey", summary: "Rename a key if newkey does not exist."},
		{Name: "keys", Scope: ScopeShown, Arity: 2, flags: "readonly", acl: "@dangerous",
			tips: "request_policy:all_shards nondeterministic_output_order", group: "generic", since: "1.0.0",
			Handle: keys, Args: "pattern", summary: "The keys that match."},
		{Name: "scan", Scope: ScopeShown, Arity: -2, flags: "readonly",
			tips: "nondeterministic_output request_policy:special", group: "generic", since: "2.8.0", Handle: scan,
			Args: "cursor [MATCH pattern] [COUNT count] [TYPE type]", summary: "Iterate over the keys in steps."},
		{Name: "dbsize", Scope: ScopeNamespace, Arity: 1, flags: "readonly fast", acl: "@keyspace",
			tips: "request_policy:all_shards response_policy:agg_sum", group: "server", since: "1.0.0", Handle: dbSize,
			summary: "The number of keys."},
		{Name: "flushdb", Scope: ScopeNamespace, Arity: -1, flags: "write", acl: "@keyspace @dangerous",
			tips: "request_policy:all_shards response_policy:all_succeeded", group: "server", since: "1.0.0",
			Handle: flush(false), Args: "[ASYNC|SYNC]",
			summary: "Delete all keys of the database, in steps."},
		{Name: "flushall", Scope: ScopeDatabases, Arity: -1, flags: "write", acl: "@keyspace @dangerous",
			tips: "request_policy:all_shards response_policy:all_succeeded", group: "server", since: "1.0.0",
			Handle: flush(true), Args: "[ASYNC|SYNC]",
			summary: "Delete all keys of the databases 0 to 15, in steps."},
	}
}

func listCommands() []Command {
	one := keySpec{1, 1, 1}
	const grow = "write denyoom fast"
	return []Command{
		{Name: "rpush", Arity: -3, flags: grow, keys: one, group: "list", since: "1.0.0",
			Handle: push(turn.Tail, false), Args: "key element [element ...]",
			summary: "Append elements at the right end; return the length."},
		{Name: "lpush", Arity: -3, flags: grow, keys: one, group: "list", since: "1.0.0",
			Handle: push(turn.Head, false), Args: "key element [element ...]",
			summary: "Insert elements at the left end, one by one; return the length."},
		{Name: "rpushx", Arity: -3, flags: grow, keys: one, group: "list", since: "2.2.0",
			Handle: push(turn.Tail, true), Args: "key element [element ...]", summary: "RPUSH if the list exists."},
		{Name: "lpushx", Arity: -3, flags: grow, keys: one, group: "list", since: "2.2.0",
			Handle: push(turn.Head, true), Args: "key element [element ...]", summary: "LPUSH if the list exists."},
		{Name: "lpop", Arity: -2, flags: "write fast", keys: one, group: "list", since: "1.0.0", Handle: pop(turn.Head),
			Args: "key [count]", summary: "Remove and return elements of the left end."},
		{Name: "blpop", Arity: -3, flags: "write noscript blocking", keys: keySpec{1, -2, 1}, group: "list",
			since: "2.0.0", Handle: blockingPop(turn.Head), Args: "key [key ...] timeout",
			summary: "LPOP of the first key that holds a list, waiting for one for that many seconds; 0: no limit."},
		{Name: "brpop", Arity: -3, flags: "write noscript blocking", keys: keySpec{1, -2, 1}, group: "list",
			since: "2.0.0", Handle: blockingPop(turn.Tail), Args: "key [key ...] timeout",
			summary: "The same with RPOP."},
		{Name: "lmpop", Arity: -4, flags: "write movablekeys", movable: countedKeys(1), group: "list", since: "7.0.0",
			Handle: popMany(1), Args: "numkeys key [key ...] LEFT|RIGHT [COUNT count]",
			summary: "Remove and return elements of the first key that holds a list."},
		{Name: "blmpop", Arity: -5, flags: "write blocking movablekeys", movable: countedKeys(2), group: "list",
			since: "7.0.0", Handle: popMany(2), Args: "timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]",
			summary: "LMPOP, waiting for a list for that many seconds; 0: no limit."},
		{Name: "lmove", Arity: 5, flags: "write denyoom", keys: keySpec{1, 2, 1}, group: "list", since: "6.2.0",
			Handle: move(true, false), Args: "source destination LEFT|RIGHT LEFT|RIGHT",
			summary: "Move an element from an end of a list to an end of another, or of the same."},
		{Name: "blmove", Arity: 6, flags: "write denyoom noscript blocking", keys: keySpec{1, 2, 1}, group: "list",
			since: "6.2.0", Handle: move(true, true), Args: "source destination LEFT|RIGHT LEFT|RIGHT timeout",
			summary: "LMOVE, waiting for an element for that many seconds; 0: no limit."},
		{Name: "rpoplpush", Arity: 3, flags: "write denyoom", keys: keySpec{1, 2, 1}, group: "list", since: "1.2.0",
			Handle: move(false, false), Args: "source destination", summary: "LMOVE with RIGHT LEFT."},
		{Name: "brpoplpush", Arity: 4, flags: "write denyoom noscript blocking", keys: keySpec{1, 2, 1}, group: "list",
			since: "2.2.0", Handle: move(false, true), Args: "source destination timeout",
			summary: "BLMOVE with RIGHT LEFT."},
		{Name: "rpop", Arity: -2, flags: "write fast", keys: one, group: "list", since: "1.0.0", Handle: pop(turn.Tail),
			Args: "key [count]", summary: "Remove and return elements of the right end."},
		{Name: "llen", Arity: 2, flags: "readonly fast", keys: one, group: "list", since: "1.0.0",
			Handle: sizeOf(turn.TypeList), Args: "key", summary: "The length of a list."},
		{Name: "lindex", Arity: 3, flags: "readonly", keys: one, group: "list", since: "1.0.0", Handle: lindex,
			Args: "key index", summary: "The element at an index."},
		{Name: "linsert", Arity: 5, flags: "write denyoom", keys: one, group: "list", since: "2.2.0", Handle: linsert,
			Args:    "key BEFORE|AFTER pivot element",
			summary: "Insert an element next to the first one that equals pivot; return the length."},
		{Name: "lset", Arity: 4, flags: "write denyoom", keys: one, group: "list", since: "1.0.0", Handle: lset,
			Args: "key index element", summary: "Replace the element at an index."},
		{Name: "lrem", Arity: 4, flags: "write", keys: one, group: "list", since: "1.0.0", Handle: lrem,
			Args: "key count element",
			summary: "Remove elements that equal it: count of them from the left, or −count from the right, or " +
				"with 0 all."},
		{Name: "lrange", Arity: 4, flags: "readonly", keys: one, group: "list", since: "1.0.0", Handle: lrange,
			Args: "key start stop", summary: "The elements from one index to another."},
		{Name: "ltrim", Arity: 4, flags: "write", keys: one, group: "list", since: "1.0.0", Handle: ltrim,
			Args: "key start stop", summary: "Keep only the elements from one index to another."},
	}
}

func turnCommands() []Command {
	one := keySpec{1, 1, 1}
	const msg = "MSG id payload [MSG id payload ...]"
	row := func(name string, arity int, flags, args, summary string, keys keySpec, h Handler) Command {
		return Command{Name: "turn." + name, Arity: arity, flags: flags, keys: keys, group: "turn", since: "turnlog",
			Handle: h, Args: args, summary: summary}
	}
	ns := row("ns", -1, always, "[namespace]", "Change to a namespace of any name, or tell the current one.",
		keySpec{}, nil)
	ns.Conn, ns.Stateful, ns.Scope = true, true, ScopeEntered
	list := row("list", -1, "readonly", "[PREFIX p] [LABEL name value ...] [CURSOR c] [LIMIT n]",
		"Sessions in key order; with labels, those whose metadata has the keys label.name, "+
			"the one that changed last first.",
		keySpec{}, turnList)
	list.Scope = ScopeShown
	erase := row("erase", -3, "write", "PREFIX p [ALL]",
		"Delete all sessions whose keys begin so, in steps; an empty prefix, that is all of the namespace, takes ALL.",
		keySpec{}, turnErase)
	erase.Scope = scopePrefix
	cluster := row("cluster", 1, "readonly", "", "The cluster as this node sees it, in JSON.", keySpec{}, turnCluster)
	cluster.Scope = ScopeServer
	untail := row("untail", -1, "readonly fast", "[key ...]",
		"End TURN.TAIL … PUSH of the keys, or of all; return how many there were.", keySpec{1, -1, 1}, nil)
	untail.Conn, untail.Stateful = true, true
	trace := row("trace", 2, always, "traceparent",
		"Make the next request, or transaction, part of a trace, by a traceparent of the W3C's Trace Context.",
		keySpec{}, nil)
	trace.Conn, trace.Stateful, trace.Scope = true, true, ScopeServer
	tx := row("tx", -4, "write denyoom movablekeys",
		"[ID id] [IF key REVISION n | SEQ n | EXISTS | ABSENT ...] STEP words command [arg ...] [STEP ...]",
		"Several changes of several keys, all or none: TURN.APPEND, META, TRIM, CLEAR, DELETE, EXPIRE, POP, EDIT, "+
			"REMOVE, REPLACE, RETAIN and RENAME, HSET, HDEL, SADD, SREM; POP, EDIT, REMOVE and RETAIN TURNS before "+
			"what else changes the session's messages, RENAME with keys of its own. ID: repeated within ten minutes, "+
			"it is answered as the first time; another one with this id and the same keys is ID_REUSED.",
		keySpec{}, turnTx)
	tx.movable = txKeys
	meta := row("meta", -2, "write denyoom", "key [SET k v ...] [UNSET k ...] [EXPECT rev]",
		"Change metadata; without SET and UNSET, read it.", one, turnMeta)
	meta.readsWith = 2
	return []Command{
		row("append", -3, "write denyoom fast", "key [EXPECT rev] [EXISTING] [PX ms] [SET k v ...] [UNSET k ...] "+msg,
			"Append a turn: all messages, or none, and change metadata with it. An empty id is no id. EXISTING: only "+
				"if there is such a session.", one, turnAppend),
		row("read", -2, "readonly",
			"key [LAST n | AFTER seq | BEFORE seq] [LIMIT n] [MAXBYTES n] [MAXTOKENS n] [WHOLE] "+
				"[SINCE ms] [UNTIL ms] [METADATA] [CONSISTENCY LINEARIZABLE | BOUNDED ms | STALE]",
			"Messages in commit order, and the session's state. WHOLE: LAST and LIMIT, too, keep tool calls and "+
				"results together. SINCE and UNTIL: those of these times, in Unix ms. METADATA: with the session's "+
				"metadata, of the same revision.", one, turnRead),
		row("tail", -2, "readonly blocking", "key [AFTER seq] [COUNT n] [BLOCK ms | PUSH [INCARNATION i]]",
			"The first messages after a seq, waiting for them up to BLOCK: COUNT at most, and fewer where they have "+
				"too many bytes for one reply. PUSH: all of them, as push frames, until TURN.UNTAIL.", one, turnTail),
		untail,
		row("info", 2, "readonly fast", "key", "Describe a session.", one, turnInfo),
		row("pop", -2, "write fast", "key [COUNT n] [EXPECT rev] [FROM NEWEST|HEAD|TAIL]",
			"Remove and answer messages, the newest by default.", one, turnPop),
		row("trim", -4, "write", "key KEEP n | BEFORE seq [EXPECT rev]", "Remove the oldest messages.", one, turnTrim),
		row("replace", -4, "write denyoom", "key FROM seq [EXPECT rev] [MSG id payload ...]",
			"Remove the messages from a seq on and append others, at once.", one, turnReplace),
		row("edit", -5, "write denyoom", "key SEQ n | ID id payload [EXPECT rev]",
			"Give a message another payload; it keeps its seq, time and id.", one, turnEdit),
		row("remove", -4, "write", "key SEQ n | ID id [EXPECT rev]", "Remove one message.", one, turnRemove),
		row("clear", -2, "write", "key [EXPECT rev]", "Remove all messages, keep the session and its numbering.", one,
			turnClear),
		row("delete", -2, "write", "key [EXPECT rev]", "Delete a session.", one, turnDelete),
		row("fork", -3, "write denyoom", "key to [AT seq] [EXPECT rev]", "Copy a session's beginning into a new one.",
			keySpec{1, 2, 1}, turnFork),
		row("rename", -3, "write denyoom", "key to [REPLACE] [EXPECT rev]",
			"Move a session, or another value, to a key that does not exist, or with REPLACE to any.",
			keySpec{1, 2, 1}, turnRename),
		meta,
		row("expire", -3, "write fast", "key PX ms [SLIDE] | PXAT ms | NEVER [EXPECT rev]",
			"Set or remove a deadline. SLIDE: each append renews it.", one, turnExpire),
		row("retain", -3, "write denyoom", "key MESSAGES n | TURNS n | ALL [EXPECT rev]",
			"Have a session keep only its last messages, or turns, from here on, or all.", one, turnRetain),
		tx, list, erase, ns, trace, cluster,
	}
}

// NewTable returns the table of all commands.
func NewTable() *Table {
	t := &Table{byName: make(map[string]*Command)}
	for _, cmd := range commands() {
		t.add(&cmd)
		t.list = append(t.list, &cmd)
		for i := range cmd.subs {
			sub := &cmd.subs[i]
			sub.tier, sub.group, sub.Name = cmd.tier, cmd.group, cmd.Name+"|"+sub.Name
			t.add(sub)
		}
	}
	return t
}
