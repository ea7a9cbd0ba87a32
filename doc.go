// Package turnlog runs turnlog inside a Go program: a memory for AI agents, session key → ordered log
// of messages, without a server to operate.
//
//	db, err := turnlog.Open("memory")
//	if err != nil { … }
//	defer db.Close()
//	_, err = db.Session("alice").Append(ctx, turn.NewMessage{Data: []byte("hi")})
//
// [Open] runs a node in this process. It is the node that `turnlog serve` runs, as a cluster of one:
// each append is an entry of Raft's log, synced to the disk before it is acknowledged, so a program
// that is killed loses nothing that was acknowledged. No port is open. A [DB] has the methods of
// [client.Client], so code that was written for a cluster runs on an embedded node, and vice versa.
//
// [OpenCluster] runs a node that is a member of a cluster, or serves clients over the network, or
// both. [OpenMemory] is for unit tests: the same node, whose data is gone when it is closed.
//
// # From one node to a cluster
//
// The directory of a node that was alone can become that of a cluster's first node at any later time.
// Open it with an address for other nodes, and add nodes that were started to join it:
//
//	db, err := turnlog.OpenCluster(turnlog.Config{Dir: "memory", Peers: turnlog.Peers{Addr: "127.0.0.1:7381"}})
//	…
//	err = db.AddNode(ctx, "n2", "127.0.0.1:7391") // which runs as `turnlog serve --node-id n2 --join …`
//
// The same directory can be given to `turnlog serve`.
//
// # The process
//
// A node does not change its process: it installs no signal handlers, registers no metrics and no HTTP
// handlers globally, and leaves the garbage collector's settings, the memory limit and the limit of
// open files as they are. [DB.Close] ends all of its goroutines. A program can run several nodes, each
// with a directory of its own. turnlog runs on Unix systems.
package turnlog
