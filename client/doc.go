// Package client is the Go client of turnlog, for agent services: it appends to, reads, follows and
// changes sessions, over RESP3, through any node of a cluster.
//
// Package client/turnlogtest runs a server for the tests of such a service.
//
// # Errors
//
// Every error is, or wraps, a *turn.Error; errors.As finds it, and its Kind says what happened. A
// Conflict carries the session's current revision. After Unknown the operation may or may not have
// taken place; after every other kind it did not. When a context ends, the error wraps the
// context's error, too.
//
// # Retries
//
// Messages get their ids before the first send. So an append is retried under the same ids, over
// other connections and nodes, until it is answered, the context ends or Config.RetryFor has passed,
// and is stored once. Operations without ids are not sent again once their request may have left
// this machine; they fail as Unknown. The table in verb.go lists which operations are retried, and
// why.
//
// # Concurrency
//
// Any number of goroutines may use a Client and the Sessions made from it. They share a few
// connections, and requests are pipelined. Requests of different goroutines have no order; a
// goroutine that waits for each result sees its own writes.
package client
