// Package turnlog runs turnlog inside a Go program: the memory of AI agents, session key → ordered
// log of messages, without a server to operate.
//
//	db, err := turnlog.Open("memory")
//	if err != nil { … }
//	defer db.Close()
//	_, err = db.Session("alice").Append(ctx, turn.NewMessage{Data: []byte("hi")})
//
// [Open] runs a node of its own in this process. It is the node that `turnlog serve` runs, a cluster
// of one: each append is an entry of Raft's log, synced to the disk before it is acknowledged, so
// that a program that is killed loses nothing that was acknowledged. No port is open. A [DB] has the
// methods of [client.Client], so code that was written for a cluster runs on an embedded node, and
// vice versa.
//
// [OpenCluster] runs a node that is a member of a cluster, or serves clients over the network, or
// both. [OpenMemory] is for unit tests: the same node, whose data is gone when it is closed.
//
// # From one node to a cluster
//
// The directory of a node that was alone can become the first of a cluster at any later time. Open
// it with an address for other nodes, and add nodes that were started to join it:
//
//	db, err := turnlog.OpenCluster(turnlog.Config{Dir: "memory", Peers: turnlog.Peers{Addr: "127.0.0.1:7381"}})
//	…
//	err = db.AddNode(ctx, "n2", "127.0.0.1:7391") // which runs as `turnlog serve --node-id n2 --join …`
//
// The same directory can be given to `turnlog serve`.
//
// # The process
//
// A node leaves its process alone: it installs no signal handlers, registers no metrics and no HTTP
// handlers globally, does not touch the settings of the garbage collector, the memory limit or the
// limit of open files, and ends all of its goroutines in [DB.Close]. A program can run several, each with a
// directory of its own. turnlog runs on Unix systems.
package turnlog
