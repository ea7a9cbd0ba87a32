package command

func pubsubCommands() []Command {
	const flags, general = "pubsub noscript loading stale", "pubsub loading stale"
	return []Command{
		{Name: "subscribe", Stateful: true, Arity: -2, Scope: ScopeHeard, flags: flags, group: "pubsub", since: "2.0.0",
			Conn: true, Args: "channel [channel ...]",
			summary: "Receive what is published to the channels, through any node."},
		{Name: "unsubscribe", Stateful: true, Arity: -1, Scope: ScopeServer, flags: flags, group: "pubsub",
			since: "2.0.0", Conn: true, Args: "[channel [channel ...]]",
			summary: "Do not, any more; without names, for all channels."},
		{Name: "psubscribe", Stateful: true, Arity: -2, Scope: ScopeHeardAll, flags: flags, group: "pubsub",
			since: "2.0.0", Conn: true, Args: "pattern [pattern ...]",
			summary: "Receive what is published to channels whose names match."},
		{Name: "punsubscribe", Stateful: true, Arity: -1, Scope: ScopeServer, flags: flags, group: "pubsub",
			since: "2.0.0", Conn: true, Args: "[pattern [pattern ...]]",
			summary: "Do not, any more; without names, for all patterns."},
		{Name: "publish", Arity: 3, Scope: ScopeTold, flags: "pubsub loading stale fast", group: "pubsub",
			since: "2.0.0", Handle: publish, Args: "channel message",
			summary: "Send a message to the subscribers of a channel, at every node; return how many received it."},
		{Name: "pubsub", Arity: -2, group: "pubsub", since: "2.8.0",
			summary: "Commands about subscriptions, at all nodes.", subs: []Command{
				{Name: "channels", Arity: -2, Scope: ScopeChannels, flags: general, since: "2.8.0", Conn: true,
					Args: "[pattern]", summary: "The channels that have subscribers."},
				{Name: "numsub", Arity: -2, Scope: ScopeChannels, flags: general, since: "2.8.0", Conn: true,
					Args: "[channel [channel ...]]", summary: "How many subscribers channels have."},
				{Name: "numpat", Arity: 2, Scope: ScopeChannels, flags: general, since: "2.8.0", Conn: true,
					summary: "The number of patterns that have subscribers."},
				{Name: "help", Arity: 2, Scope: ScopeServer, flags: "loading stale", acl: "-@pubsub", since: "6.2.0",
					Handle: help("pubsub"), summary: "List the subcommands."},
			}},
	}
}

// SwitchMaster is the channel on which Sentinels say that the master is another
// one: "name old-host old-port new-host new-port".
const SwitchMaster = "+switch-master"

// ErrClusterChannel refuses a client that publishes what only the cluster may.
const ErrClusterChannel Error = "NOPERM only the cluster itself publishes on '" + SwitchMaster + "'"

func publish(req *Request, args [][]byte) Action {
	if string(args[1]) == SwitchMaster {
		return ErrClusterChannel // its subscribers connect, with their passwords, to the address in it
	}
	if long := LongPattern(string(args[1])); long != "" {
		return long
	}
	return &Publish{Namespace: req.Namespace, Channel: string(args[1]), Payload: req.payload(args[2])}
}
