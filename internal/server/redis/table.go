package redis

import "github.com/turnlog/turnlog/turn"

// commands returns the table. It is made anew for each Server, so that nothing is
// shared.
func commands() []command {
	var all []command
	for _, tier := range []struct {
		name string
		rows []command
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
			cmd.native = cmd.group == "turn"
			all = append(all, cmd)
		}
	}
	return all
}

// onServer says of commands without keys, and subcommands, that they get at nothing
// but the server, unless they say otherwise.
func onServer(rows []command) []command {
	for i := range rows {
		cmd := &rows[i]
		if cmd.reach == reachUnstated && cmd.keys.first == 0 {
			cmd.reach = reachServer
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

func connectionCommands() []command {
	return []command{
		{name: "hello", stateful: true, arity: -1, flags: handshake, group: "connection", since: "6.0.0", handle: hello,
			args: "[protover [AUTH username password] [SETNAME clientname]]", summary: "Agree on the protocol version, authenticate, set a name."},
		{name: "auth", stateful: true, arity: -2, flags: handshake, group: "connection", since: "1.0.0", handle: authenticate,
			args: "[username] password", summary: "Authenticate."},
		{name: "select", reach: reachEntered, stateful: true, arity: 2, flags: always, group: "connection", since: "1.0.0", handle: selectDB,
			args: "index", summary: "Change to the numbered database 0 to 15, which is the namespace of that name."},
		{name: "ping", arity: -1, flags: "fast", tips: "request_policy:all_shards response_policy:all_succeeded", group: "connection", since: "1.0.0", handle: ping,
			args: "[message]", summary: "Answer PONG, or the message."},
		{name: "echo", arity: 2, flags: always, group: "connection", since: "1.0.0", handle: echo, args: "message", summary: "Answer the message."},
		{name: "quit", arity: -1, flags: handshake, group: "connection", since: "1.0.0", handle: quit, summary: "Close the connection after all replies."},
		{name: "reset", arity: 1, flags: handshake, group: "connection", since: "6.2.0", handle: reset, summary: "Bring the connection into its first state: RESP2, database 0, no name."},
		{name: "client", arity: -2, group: "connection", since: "2.4.0", summary: "Commands about client connections.", subs: clientCommands()},
		{name: "command", arity: -1, flags: "loading stale", acl: "@connection", tips: unordered, group: "server", since: "2.8.13", handle: commandAll,
			summary: "Describe all commands.", subs: commandCommands()},
		{name: "config", arity: -2, group: "server", since: "2.0.0", summary: "Commands about settings.", subs: []command{
			{name: "get", arity: -3, flags: adminOnly, since: "2.0.0", handle: configGet, args: "pattern [pattern ...]", summary: "Show the settings whose names match."},
			{name: "set", arity: -4, flags: adminOnly, tips: "request_policy:all_nodes response_policy:all_succeeded", since: "2.0.0", handle: configSet, args: "name value [...]", summary: "Refused: settings come from flags and the configuration file."},
			{name: "help", arity: 2, flags: "loading stale", since: "5.0.0", handle: help("config"), summary: "List the subcommands."},
		}},
		{name: "info", arity: -1, flags: "loading stale", acl: "@dangerous", tips: "nondeterministic_output request_policy:all_shards response_policy:special", group: "server", since: "1.0.0", handle: info,
			args: "[section [section ...]]", summary: "Describe the server."},
		{name: "role", arity: 1, flags: "noscript loading stale fast", acl: "@admin @dangerous", group: "server", since: "2.8.12", handle: role, summary: "Say that this node takes writes; every node does."},
		{name: "time", arity: 1, flags: always, tips: unsteady, group: "server", since: "2.6.0", handle: serverTime, summary: "The node's clock: seconds and microseconds."},
		{name: "wait", arity: 3, flags: "noscript", acl: "@connection -@keyspace", tips: "request_policy:all_shards response_policy:agg_min", group: "generic", since: "3.0.0", handle: waitReplicas,
			args: "numreplicas timeout", summary: "Wait until that many other nodes have the connection's last write on disk; answer how many do."},
		{name: "waitaof", arity: 4, reach: reachServer, flags: "noscript", acl: "@connection -@keyspace", tips: "request_policy:all_shards response_policy:agg_min", group: "generic", since: "7.2.0", handle: waitAOF,
			args: "numlocal numreplicas timeout", summary: "Wait until this node, if numlocal is 1, and that many others have the connection's last write on disk; answer both."},
		{name: "module", arity: -2, group: "server", since: "4.0.0", summary: "Commands about modules.", subs: []command{
			{name: "list", arity: 2, flags: "admin noscript", tips: unordered, since: "4.0.0", handle: moduleList, summary: "There are none."},
			{name: "help", arity: 2, flags: "loading stale", since: "5.0.0", handle: help("module"), summary: "List the subcommands."},
		}},
		{name: "readonly", arity: 1, flags: always, acl: "@connection", group: "cluster", since: "3.0.0", handle: noCluster, summary: "Refused, as by a standalone Redis."},
		{name: "readwrite", arity: 1, flags: always, acl: "@connection", group: "cluster", since: "3.0.0", handle: noCluster, summary: "Refused, as by a standalone Redis."},
		{name: "cluster", arity: -2, group: "cluster", since: "3.0.0", summary: "Refused, as by a standalone Redis.", subs: clusterCommands()},
		{name: "acl", arity: -2, group: "server", since: "6.0.0", summary: "Commands about users.", subs: []command{
			{name: "whoami", arity: 2, flags: subcommand, since: "6.0.0", handle: aclWhoAmI, summary: "The user that the connection is."},
			{name: "help", arity: 2, flags: "loading stale", since: "6.0.0", handle: help("acl"), summary: "List the subcommands."},
		}},
		{name: "sentinel", arity: -2, group: "sentinel", since: "2.8.4", summary: "Commands by which clients find the leader.", subs: sentinelCommands()},
	}
}

func clientCommands() []command {
	return []command{
		{name: "id", arity: 2, flags: subcommand, since: "5.0.0", handle: clientID, summary: "The connection's number."},
		{name: "getname", arity: 2, flags: subcommand, since: "2.6.9", handle: clientGetName, summary: "The connection's name."},
		{name: "setname", stateful: true, arity: 3, flags: subcommand, since: "2.6.9", handle: clientSetName, args: "name", summary: "Name the connection."},
		{name: "setinfo", stateful: true, arity: 4, flags: subcommand, since: "7.2.0", handle: clientSetInfo, args: "LIB-NAME name | LIB-VER version", summary: "Say which client library this is."},
		{name: "info", arity: 2, flags: subcommand, tips: unsteady, since: "6.2.0", handle: clientInfo, summary: "Describe this connection."},
		{name: "list", arity: -2, flags: adminOnly, tips: unsteady, since: "2.4.0", handle: clientList, args: "[TYPE type | ID id [id ...]]", summary: "Describe the connections of this node."},
		{name: "kill", stateful: true, arity: -3, flags: adminOnly, since: "2.4.0", handle: clientKill, args: "addr | [ID id] [ADDR addr] [LADDR addr] [USER name] [TYPE type] [SKIPME yes|no]",
			summary: "End connections, after the replies to what they have sent."},
		{name: "no-evict", stateful: true, arity: 3, flags: adminOnly, since: "7.0.0", handle: clientNoEvict, args: "ON|OFF", summary: "Accepted; no connection is evicted."},
		{name: "no-touch", stateful: true, arity: 3, flags: subcommand, since: "7.2.0", handle: clientNoTouch, args: "ON|OFF", summary: "Accepted; reading never changes anything."},
		{name: "reply", stateful: true, arity: 3, flags: subcommand, since: "3.2.0", handle: clientReply, args: "ON|OFF|SKIP", summary: "Switch replies off, on, or off for the next one."},
		{name: "unblock", stateful: true, arity: -3, flags: adminOnly, since: "5.0.0", handle: clientUnblock, args: "id [TIMEOUT|ERROR]", summary: "Ends the wait of a connection to this node."},
		{name: "tracking", stateful: true, arity: -3, flags: subcommand, since: "6.0.0", handle: clientTracking, args: "OFF", summary: "Client-side caching is not supported."},
		{name: "getredir", arity: 2, flags: subcommand, since: "6.0.0", handle: clientGetRedir, summary: "Answers -1: nothing is tracked."},
		{name: "help", arity: 2, flags: "loading stale", since: "5.0.0", handle: help("client"), summary: "List the subcommands."},
	}
}

func commandCommands() []command {
	const flags = "loading stale"
	return []command{
		{name: "count", arity: 2, flags: flags, acl: "@connection", since: "2.8.13", handle: commandCount, summary: "The number of commands."},
		{name: "docs", arity: -2, flags: flags, acl: "@connection", tips: unordered, since: "7.0.0", handle: commandDocs, args: "[command ...]", summary: "Document commands."},
		{name: "info", arity: -2, flags: flags, acl: "@connection", tips: unordered, since: "2.8.13", handle: commandInfo, args: "[command ...]", summary: "Describe commands."},
		{name: "list", arity: -2, flags: flags, acl: "@connection", tips: unordered, since: "7.0.0", handle: commandList, args: "[FILTERBY MODULE name|ACLCAT category|PATTERN pattern]", summary: "List the names of commands."},
		{name: "getkeys", arity: -3, flags: flags, acl: "@connection", since: "2.8.13", handle: commandGetKeys, args: "command [arg ...]", summary: "Which arguments of a request are keys."},
		{name: "help", arity: 2, flags: flags, acl: "@connection", since: "5.0.0", handle: help("command"), summary: "List the subcommands."},
	}
}

func clusterCommands() []command {
	var subs []command
	for _, name := range []string{"info", "nodes", "slots", "shards", "links"} {
		subs = append(subs, command{name: name, arity: 2, flags: "stale", tips: unsteady, since: "3.0.0", handle: noCluster, summary: "Refused, as by a standalone Redis."})
	}
	subs = append(subs, command{name: "myid", arity: 2, flags: "stale", since: "3.0.0", handle: noCluster, summary: "Refused, as by a standalone Redis."})
	subs = append(subs, command{name: "keyslot", arity: 3, flags: "stale", since: "3.0.0", handle: noCluster, args: "key", summary: "Refused, as by a standalone Redis."})
	return append(subs, command{name: "help", arity: 2, flags: "loading stale", since: "5.0.0", handle: help("cluster"), summary: "List the subcommands."})
}

func keyCommands() []command {
	one, all := keySpec{1, 1, 1}, keySpec{1, -1, 1}
	const multi = "request_policy:multi_shard response_policy:agg_sum"
	const conditions = " [NX|XX|GT|LT]"
	return []command{
		{name: "del", arity: -2, flags: "write", keys: all, tips: multi, group: "generic", since: "1.0.0", handle: del, args: "key [key ...]", summary: "Delete keys; answer how many there were."},
		{name: "unlink", arity: -2, flags: "write fast", keys: all, tips: multi, group: "generic", since: "4.0.0", handle: del, args: "key [key ...]", summary: "The same as DEL."},
		{name: "exists", arity: -2, flags: "readonly fast", keys: all, tips: multi, group: "generic", since: "1.0.0", handle: existing, args: "key [key ...]", summary: "How many of the keys exist."},
		{name: "type", arity: 2, flags: "readonly fast", keys: one, group: "generic", since: "1.0.0", handle: typeOf, args: "key", summary: "list, string, hash, set, zset, stream, or none."},
		{name: "expire", arity: -3, flags: "write fast", keys: one, group: "generic", since: "1.0.0", handle: expire(1000, false), args: "key seconds" + conditions, summary: "Let a key expire after that time."},
		{name: "pexpire", arity: -3, flags: "write fast", keys: one, group: "generic", since: "2.6.0", handle: expire(1, false), args: "key milliseconds" + conditions, summary: "Let a key expire after that time."},
		{name: "expireat", arity: -3, flags: "write fast", keys: one, group: "generic", since: "1.2.0", handle: expire(1000, true), args: "key unix-time-seconds" + conditions, summary: "Let a key expire at that time."},
		{name: "pexpireat", arity: -3, flags: "write fast", keys: one, group: "generic", since: "2.6.0", handle: expire(1, true), args: "key unix-time-milliseconds" + conditions, summary: "Let a key expire at that time."},
		{name: "ttl", arity: 2, flags: "readonly fast", keys: one, tips: unsteady, group: "generic", since: "1.0.0", handle: ttl(1000, false), args: "key", summary: "Seconds until a key expires; -1: never; -2: no such key."},
		{name: "pttl", arity: 2, flags: "readonly fast", keys: one, tips: unsteady, group: "generic", since: "2.6.0", handle: ttl(1, false), args: "key", summary: "TTL in milliseconds."},
		{name: "expiretime", arity: 2, flags: "readonly fast", keys: one, group: "generic", since: "7.0.0", handle: ttl(1000, true), args: "key", summary: "When a key expires, in Unix seconds; -1: never; -2: no such key."},
		{name: "pexpiretime", arity: 2, flags: "readonly fast", keys: one, group: "generic", since: "7.0.0", handle: ttl(1, true), args: "key", summary: "EXPIRETIME in milliseconds."},
		{name: "persist", arity: 2, flags: "write fast", keys: one, group: "generic", since: "2.2.0", handle: persist, args: "key", summary: "Let a key never expire."},
		{name: "keys", reach: reachShown, arity: 2, flags: "readonly", acl: "@dangerous", tips: "request_policy:all_shards nondeterministic_output_order", group: "generic", since: "1.0.0", handle: keys, args: "pattern", summary: "The keys that match."},
		{name: "scan", reach: reachShown, arity: -2, flags: "readonly", tips: "nondeterministic_output request_policy:special", group: "generic", since: "2.8.0", handle: scan,
			args: "cursor [MATCH pattern] [COUNT count] [TYPE type]", summary: "Go through the keys in steps."},
		{name: "dbsize", reach: reachNamespace, arity: 1, flags: "readonly fast", acl: "@keyspace", tips: "request_policy:all_shards response_policy:agg_sum", group: "server", since: "1.0.0", handle: dbSize, summary: "The number of keys."},
		{name: "flushdb", reach: reachNamespace, arity: -1, flags: "write", acl: "@keyspace @dangerous", tips: "request_policy:all_shards response_policy:all_succeeded", group: "server", since: "1.0.0", handle: flush(false), args: "[ASYNC|SYNC]",
			summary: "Delete all keys of the database, in steps."},
		{name: "flushall", reach: reachDatabases, arity: -1, flags: "write", acl: "@keyspace @dangerous", tips: "request_policy:all_shards response_policy:all_succeeded", group: "server", since: "1.0.0", handle: flush(true), args: "[ASYNC|SYNC]",
			summary: "Delete all keys of the databases 0 to 15, in steps."},
	}
}

func listCommands() []command {
	one := keySpec{1, 1, 1}
	const grow = "write denyoom fast"
	return []command{
		{name: "rpush", arity: -3, flags: grow, keys: one, group: "list", since: "1.0.0", handle: push(turn.Tail, false), args: "key element [element ...]", summary: "Append elements at the right end; answer the length."},
		{name: "lpush", arity: -3, flags: grow, keys: one, group: "list", since: "1.0.0", handle: push(turn.Head, false), args: "key element [element ...]", summary: "Insert elements at the left end, one by one; answer the length."},
		{name: "rpushx", arity: -3, flags: grow, keys: one, group: "list", since: "2.2.0", handle: push(turn.Tail, true), args: "key element [element ...]", summary: "RPUSH if the list exists."},
		{name: "lpushx", arity: -3, flags: grow, keys: one, group: "list", since: "2.2.0", handle: push(turn.Head, true), args: "key element [element ...]", summary: "LPUSH if the list exists."},
		{name: "lpop", arity: -2, flags: "write fast", keys: one, group: "list", since: "1.0.0", handle: pop(turn.Head), args: "key [count]", summary: "Remove and answer elements of the left end."},
		{name: "blpop", arity: -3, flags: "write noscript blocking", keys: keySpec{1, -2, 1}, group: "list", since: "2.0.0", handle: blockingPop("blpop", turn.Head), args: "key [key ...] timeout", summary: "LPOP of the first key that holds a list, waiting for one for so many seconds; 0: for ever."},
		{name: "brpop", arity: -3, flags: "write noscript blocking", keys: keySpec{1, -2, 1}, group: "list", since: "2.0.0", handle: blockingPop("brpop", turn.Tail), args: "key [key ...] timeout", summary: "RPOP in the same way."},
		{name: "lmpop", arity: -4, flags: "write movablekeys", movable: countedKeys(1), group: "list", since: "7.0.0", handle: popMany("lmpop", 1), args: "numkeys key [key ...] LEFT|RIGHT [COUNT count]", summary: "Remove and answer elements of the first key that holds a list."},
		{name: "blmpop", arity: -5, flags: "write blocking movablekeys", movable: countedKeys(2), group: "list", since: "7.0.0", handle: popMany("blmpop", 2), args: "timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]", summary: "LMPOP, waiting for a list for so many seconds; 0: for ever."},
		{name: "lmove", arity: 5, flags: "write denyoom", keys: keySpec{1, 2, 1}, group: "list", since: "6.2.0", handle: move("lmove", true, false), args: "source destination LEFT|RIGHT LEFT|RIGHT", summary: "Move an element from an end of a list to an end of another, or of the same."},
		{name: "blmove", arity: 6, flags: "write denyoom noscript blocking", keys: keySpec{1, 2, 1}, group: "list", since: "6.2.0", handle: move("blmove", true, true), args: "source destination LEFT|RIGHT LEFT|RIGHT timeout", summary: "LMOVE, waiting for an element for so many seconds; 0: for ever."},
		{name: "rpoplpush", arity: 3, flags: "write denyoom", keys: keySpec{1, 2, 1}, group: "list", since: "1.2.0", handle: move("rpoplpush", false, false), args: "source destination", summary: "LMOVE with RIGHT LEFT."},
		{name: "brpoplpush", arity: 4, flags: "write denyoom noscript blocking", keys: keySpec{1, 2, 1}, group: "list", since: "2.2.0", handle: move("brpoplpush", false, true), args: "source destination timeout", summary: "BLMOVE with RIGHT LEFT."},
		{name: "rpop", arity: -2, flags: "write fast", keys: one, group: "list", since: "1.0.0", handle: pop(turn.Tail), args: "key [count]", summary: "Remove and answer elements of the right end."},
		{name: "llen", arity: 2, flags: "readonly fast", keys: one, group: "list", since: "1.0.0", handle: sizeOf(turn.TypeList), args: "key", summary: "The length of a list."},
		{name: "lindex", arity: 3, flags: "readonly", keys: one, group: "list", since: "1.0.0", handle: lindex, args: "key index", summary: "The element at an index."},
		{name: "linsert", arity: 5, flags: "write denyoom", keys: one, group: "list", since: "2.2.0", handle: linsert, args: "key BEFORE|AFTER pivot element", summary: "Insert an element next to the first one that equals pivot; answer the length."},
		{name: "lset", arity: 4, flags: "write denyoom", keys: one, group: "list", since: "1.0.0", handle: lset, args: "key index element", summary: "Replace the element at an index."},
		{name: "lrem", arity: 4, flags: "write", keys: one, group: "list", since: "1.0.0", handle: lrem, args: "key count element", summary: "Remove elements that equal it: count of them from the left, or −count from the right, or with 0 all."},
		{name: "lrange", arity: 4, flags: "readonly", keys: one, group: "list", since: "1.0.0", handle: lrange, args: "key start stop", summary: "The elements from one index to another."},
		{name: "ltrim", arity: 4, flags: "write", keys: one, group: "list", since: "1.0.0", handle: ltrim, args: "key start stop", summary: "Keep only the elements from one index to another."},
	}
}

func turnCommands() []command {
	one := keySpec{1, 1, 1}
	const msg = "MSG id payload [MSG id payload ...]"
	row := func(name string, arity int, flags, args, summary string, keys keySpec, h handler) command {
		return command{name: "turn." + name, arity: arity, flags: flags, keys: keys, group: "turn", since: "turnlog", handle: h, args: args, summary: summary}
	}
	ns := row("ns", -1, always, "[namespace]", "Change to a namespace of any name, or tell the current one.", keySpec{}, namespace)
	ns.stateful, ns.reach = true, reachEntered
	list := row("list", -1, "readonly", "[PREFIX p] [CURSOR c] [LIMIT n]", "Sessions in key order.", keySpec{}, turnList)
	list.reach = reachShown
	erase := row("erase", -3, "write", "PREFIX p [ALL]", "Delete all sessions whose keys begin so, in steps; an empty prefix, that is all of the namespace, takes ALL.", keySpec{}, turnErase)
	erase.reach = reachPrefix
	cluster := row("cluster", 1, "readonly", "", "The cluster as this node sees it, in JSON.", keySpec{}, turnCluster)
	cluster.reach = reachServer
	untail := row("untail", -1, "readonly fast", "[key ...]", "End TURN.TAIL … PUSH of the keys, or of all; answer how many there were.", keySpec{1, -1, 1}, turnUntail)
	untail.stateful = true
	return []command{
		row("append", -3, "write denyoom fast", "key [EXPECT rev] [PX ms] "+msg, "Append a turn: all messages, or none. An empty id is no id.", one, turnAppend),
		row("read", -2, "readonly", "key [LAST n | AFTER seq | BEFORE seq] [LIMIT n] [MAXBYTES n] [MAXTOKENS n] [CONSISTENCY LINEARIZABLE | BOUNDED ms | STALE]", "Messages in commit order, and the session's state.", one, turnRead),
		row("tail", -2, "readonly blocking", "key [AFTER seq] [COUNT n] [BLOCK ms | PUSH [INCARNATION i]]", "The first messages after a seq, waiting for them up to BLOCK. PUSH: all of them, as push frames, until TURN.UNTAIL.", one, turnTail),
		untail,
		row("info", 2, "readonly fast", "key", "Describe a session.", one, turnInfo),
		row("pop", -2, "write fast", "key [COUNT n] [EXPECT rev] [FROM NEWEST|HEAD|TAIL]", "Remove and answer messages, the newest by default.", one, turnPop),
		row("trim", -4, "write", "key KEEP n | BEFORE seq [EXPECT rev]", "Remove the oldest messages.", one, turnTrim),
		row("replace", -4, "write denyoom", "key FROM seq [EXPECT rev] [MSG id payload ...]", "Remove the messages from a seq on and append others, at once.", one, turnReplace),
		row("clear", -2, "write", "key [EXPECT rev]", "Remove all messages, keep the session and its numbering.", one, turnClear),
		row("delete", -2, "write", "key [EXPECT rev]", "Delete a session.", one, turnDelete),
		row("fork", -3, "write denyoom", "key to [AT seq] [EXPECT rev]", "Copy a session's beginning into a new one.", keySpec{1, 2, 1}, turnFork),
		row("meta", -2, "write denyoom", "key [SET k v ...] [UNSET k ...] [EXPECT rev]", "Change metadata; without SET and UNSET, read it.", one, turnMeta),
		row("expire", -3, "write fast", "key PX ms [SLIDE] | PXAT ms | NEVER [EXPECT rev]", "Set or remove a deadline. SLIDE: each append renews it.", one, turnExpire),
		list, erase, ns, cluster,
	}
}
