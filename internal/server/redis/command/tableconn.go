package command

func connectionCommands() []Command {
	return []Command{
		{Name: "hello", Stateful: true, Arity: -1, flags: handshake, group: "connection", since: "6.0.0", Conn: true,
			Args:    "[protover [AUTH username password] [SETNAME clientname]]",
			summary: "Negotiate the protocol version, authenticate, set a name."},
		{Name: "auth", Stateful: true, Arity: -2, flags: handshake, group: "connection", since: "1.0.0", Conn: true,
			Args: "[username] password", summary: "Authenticate."},
		{Name: "select", Scope: ScopeEntered, Stateful: true, Arity: 2, flags: always, group: "connection",
			since: "1.0.0", Conn: true,
			Args: "index", summary: "Change to the numbered database 0 to 15, which is the namespace of that name."},
		{Name: "ping", Arity: -1, flags: "fast", tips: "request_policy:all_shards response_policy:all_succeeded",
			group: "connection", since: "1.0.0", Conn: true,
			Args: "[message]", summary: "Return PONG, or the message."},
		{Name: "echo", Arity: 2, flags: always, group: "connection", since: "1.0.0", Conn: true, Args: "message",
			summary: "Return the message."},
		{Name: "quit", Arity: -1, flags: handshake, group: "connection", since: "1.0.0", Conn: true,
			summary: "Close the connection after all replies."},
		{Name: "reset", Arity: 1, flags: handshake, group: "connection", since: "6.2.0", Conn: true,
			summary: "Reset the connection: RESP2, database 0, no name."},
		{Name: "client", Arity: -2, group: "connection", since: "2.4.0", summary: "Commands about client connections.",
			subs: clientCommands()},
		{Name: "command", Arity: -1, flags: "loading stale", acl: "@connection", tips: unordered, group: "server",
			since: "2.8.13", Handle: commandAll,
			summary: "Describe all commands.", subs: commandCommands()},
		{Name: "config", Arity: -2, group: "server", since: "2.0.0", summary: "Commands about settings.",
			subs: []Command{
				{Name: "get", Arity: -3, flags: adminOnly, since: "2.0.0", Conn: true, Args: "pattern [pattern ...]",
					summary: "Show the settings whose names match."},
				{Name: "set", Arity: -4, flags: adminOnly,
					tips: "request_policy:all_nodes response_policy:all_succeeded", since: "2.0.0", Conn: true,
					Args: "name value [...]", summary: "Refused: settings come from flags and the configuration file."},
				{Name: "help", Arity: 2, flags: "loading stale", since: "5.0.0", Handle: help("config"),
					summary: "List the subcommands."},
			}},
		{Name: "info", Arity: -1, flags: "loading stale", acl: "@dangerous",
			tips: "nondeterministic_output request_policy:all_shards response_policy:special", group: "server",
			since: "1.0.0", Conn: true,
			Args: "[section [section ...]]", summary: "Describe the server."},
		{Name: "role", Arity: 1, flags: "noscript loading stale fast", acl: "@admin @dangerous", group: "server",
			since: "2.8.12", Handle: role, summary: "Report that this node takes writes, as every node does."},
		{Name: "time", Arity: 1, flags: always, tips: unsteady, group: "server", since: "2.6.0", Handle: serverTime,
			summary: "The node's clock: seconds and microseconds."},
		{Name: "wait", Arity: 3, flags: "noscript", acl: "@connection -@keyspace",
			tips: "request_policy:all_shards response_policy:agg_min", group: "generic", since: "3.0.0",
			Handle:  waitReplicas,
			Args:    "numreplicas timeout",
			summary: "Wait until that many other nodes have the connection's last write on disk; return how many do."},
		{Name: "waitaof", Arity: 4, Scope: ScopeServer, flags: "noscript", acl: "@connection -@keyspace",
			tips: "request_policy:all_shards response_policy:agg_min", group: "generic", since: "7.2.0",
			Handle: waitAOF,
			Args:   "numlocal numreplicas timeout",
			summary: "Wait until this node, if numlocal is 1, and that many others have the connection's last write " +
				"on disk; return both."},
		{Name: "module", Arity: -2, group: "server", since: "4.0.0", summary: "Commands about modules.",
			subs: []Command{
				{Name: "list", Arity: 2, flags: "admin noscript", tips: unordered, since: "4.0.0", Handle: moduleList,
					summary: "There are none."},
				{Name: "help", Arity: 2, flags: "loading stale", since: "5.0.0", Handle: help("module"),
					summary: "List the subcommands."},
			}},
		{Name: "readonly", Arity: 1, flags: always, acl: "@connection", group: "cluster", since: "3.0.0",
			Handle: noCluster, summary: "Refused, as by a standalone Redis."},
		{Name: "readwrite", Arity: 1, flags: always, acl: "@connection", group: "cluster", since: "3.0.0",
			Handle: noCluster, summary: "Refused, as by a standalone Redis."},
		{Name: "cluster", Arity: -2, group: "cluster", since: "3.0.0", summary: "Refused, as by a standalone Redis.",
			subs: clusterCommands()},
		{Name: "acl", Arity: -2, group: "server", since: "6.0.0", summary: "Commands about users.", subs: []Command{
			{Name: "whoami", Arity: 2, flags: subcommand, since: "6.0.0", Conn: true,
				summary: "The user of the connection."},
			{Name: "help", Arity: 2, flags: "loading stale", since: "6.0.0", Handle: help("acl"),
				summary: "List the subcommands."},
		}},
		{Name: "sentinel", Arity: -2, group: "sentinel", since: "2.8.4",
			summary: "Commands by which clients find the leader.", subs: sentinelCommands()},
	}
}

func clientCommands() []Command {
	return []Command{
		{Name: "id", Arity: 2, flags: subcommand, since: "5.0.0", Conn: true, summary: "The connection's number."},
		{Name: "getname", Arity: 2, flags: subcommand, since: "2.6.9", Conn: true, summary: "The connection's name."},
		{Name: "setname", Stateful: true, Arity: 3, flags: subcommand, since: "2.6.9", Conn: true, Args: "name",
			summary: "Name the connection."},
		{Name: "setinfo", Stateful: true, Arity: 4, flags: subcommand, since: "7.2.0", Conn: true,
			Args: "LIB-NAME name | LIB-VER version", summary: "Set the name or version of the client library."},
		{Name: "info", Arity: 2, flags: subcommand, tips: unsteady, since: "6.2.0", Conn: true,
			summary: "Describe this connection."},
		{Name: "list", Arity: -2, flags: adminOnly, tips: unsteady, since: "2.4.0", Conn: true,
			Args: "[TYPE type | ID id [id ...]]", summary: "Describe the connections of this node."},
		{Name: "kill", Stateful: true, Arity: -3, flags: adminOnly, since: "2.4.0", Conn: true,
			Args:    "addr | [ID id] [ADDR addr] [LADDR addr] [USER name] [TYPE type] [SKIPME yes|no]",
			summary: "Close connections, after the replies to what they have sent."},
		{Name: "no-evict", Stateful: true, Arity: 3, flags: adminOnly, since: "7.0.0", Conn: true, Args: "ON|OFF",
			summary: "Accepted; no connection is evicted."},
		{Name: "no-touch", Stateful: true, Arity: 3, flags: subcommand, since: "7.2.0", Conn: true, Args: "ON|OFF",
			summary: "Accepted; reading never changes anything."},
		{Name: "reply", Stateful: true, Arity: 3, flags: subcommand, since: "3.2.0", Conn: true, Args: "ON|OFF|SKIP",
			summary: "Switch replies off, on, or off for the next one."},
		{Name: "unblock", Stateful: true, Arity: -3, flags: adminOnly, since: "5.0.0", Conn: true,
			Args: "id [TIMEOUT|ERROR]", summary: "End the wait of a blocked connection to this node."},
		{Name: "tracking", Stateful: true, Arity: -3, flags: subcommand, since: "6.0.0", Conn: true, Args: "OFF",
			summary: "Client-side caching is not supported."},
		{Name: "getredir", Arity: 2, flags: subcommand, since: "6.0.0", Conn: true,
			summary: "Return -1: nothing is tracked."},
		{Name: "help", Arity: 2, flags: "loading stale", since: "5.0.0", Handle: help("client"),
			summary: "List the subcommands."},
	}
}

func commandCommands() []Command {
	const flags = "loading stale"
	return []Command{
		{Name: "count", Arity: 2, flags: flags, acl: "@connection", since: "2.8.13", Handle: commandCount,
			summary: "The number of commands."},
		{Name: "docs", Arity: -2, flags: flags, acl: "@connection", tips: unordered, since: "7.0.0",
			Handle: commandDocs, Args: "[command ...]", summary: "Document commands."},
		{Name: "info", Arity: -2, flags: flags, acl: "@connection", tips: unordered, since: "2.8.13",
			Handle: commandInfo, Args: "[command ...]", summary: "Describe commands."},
		{Name: "list", Arity: -2, flags: flags, acl: "@connection", tips: unordered, since: "7.0.0",
			Handle: commandList, Args: "[FILTERBY MODULE name|ACLCAT category|PATTERN pattern]",
			summary: "List the names of commands."},
		{Name: "getkeys", Arity: -3, flags: flags, acl: "@connection", since: "2.8.13", Handle: commandGetKeys,
			Args: "command [arg ...]", summary: "Which arguments of a request are keys."},
		{Name: "help", Arity: 2, flags: flags, acl: "@connection", since: "5.0.0", Handle: help("command"),
			summary: "List the subcommands."},
	}
}

func clusterCommands() []Command {
	var subs []Command
	for _, name := range []string{"info", "nodes", "slots", "shards", "links"} {
		subs = append(subs, Command{Name: name, Arity: 2, flags: "stale", tips: unsteady, since: "3.0.0",
			Handle: noCluster, summary: "Refused, as by a standalone Redis."})
	}
	subs = append(subs, Command{Name: "myid", Arity: 2, flags: "stale", since: "3.0.0", Handle: noCluster,
		summary: "Refused, as by a standalone Redis."})
	subs = append(subs, Command{Name: "keyslot", Arity: 3, flags: "stale", since: "3.0.0", Handle: noCluster,
		Args: "key", summary: "Refused, as by a standalone Redis."})
	return append(subs, Command{Name: "help", Arity: 2, flags: "loading stale", since: "5.0.0", Handle: help("cluster"),
		summary: "List the subcommands."})
}
