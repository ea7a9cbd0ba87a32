// Package client is what an agent service embeds to keep its conversations in
// turnlog: sessions to append to, read, tail and change, over RESP3, through
// any node of a cluster.
//
// Package client/turnlogtest has a server for the tests of such a service.
//
// # Outcomes
//
// Every error is, or wraps, a *turn.Error; errors.As finds it, and its Kind says
// what happened. Conflict carries the session's current revision. Unknown is the
// one kind after which the operation may or may not have taken place; every other
// kind means that it surely did not. When a context ends, the error wraps the
// context's error too.
//
// # Retries
//
// Messages get their ids before the first send, so an append is tried again
// under the same ids, over another connection or another node, until it is
// answered, the context ends or Config.RetryFor has passed, and is stored once
// all the same. Operations that nothing identifies are not sent again once their
// request may have left this machine: they end in Unknown instead. The table in
// verb.go lists which is which, and why.
//
// # Concurrency
//
// A Client and the Sessions made from it may be used by any number of
// goroutines. They share a few connections; requests that are made while others
// are on their way are written together. Requests of different goroutines have
// no order among each other; a goroutine that waits for each answer sees its own
// writes.
package client
