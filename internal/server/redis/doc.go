// Package redis is the server for clients that speak Redis's protocol: a subset of
// Redis's commands on sessions seen as lists and on values of Redis's other types,
// with Redis's own replies down to the error texts, and the TURN.* commands with
// turnlog's full semantics. Package command has the table of commands and their handlers;
// this package has connections.
//
// # The way of a request
//
// See handle.go. conn.next reads a request, and conn.handle takes it its way: find the command in
// the table, authorise it, let it through or queue or refuse it (conn.decide), have its handler make an
// action of it (conn.dispatch), and perform that (conn.execute), which puts its reply in line.
//
// # Order on one connection
//
// Requests are read ahead, and replies are written in the order of the requests.
// Writes are handed to the engine in order, without waiting for one another, so
// that a pipeline of them shares a few log entries. A read waits for the
// connection's earlier writes to the same key, and a write for its earlier reads
// of the same key. A request that names no key (KEYS, DBSIZE, FLUSHDB) waits for
// everything before it, and everything after waits for it. So does one that blocks;
// requests received behind it are kept undecoded, so that the goroutine that reads
// requests notices when the client disconnects.
//
// # Honest outcomes
//
// Most Redis clients send a request again when a connection breaks or the reply
// says "LOADING". So once a write has been handed over, its connection is kept
// until the outcome is known, and a reply that invites repetition is given only
// if the write surely did not take place. Package command has the texts.
//
// # Goroutines
//
// Each connection has a goroutine that reads requests (conn.serve), one that
// writes replies while any are owed (package replies), and one for each read in
// flight, of which there are at most maxReads; one that blocks has one more for each key. All of
// them end before Server.Run returns.
package redis
