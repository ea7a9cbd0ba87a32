// Package client is the Go client of turnlog, for agent services: it appends to, reads, follows and
// changes sessions, over RESP3, through any node of a cluster.
//
// The messages and errors that it takes and returns are those of package turn: see
//
//	go doc github.com/turnlog/turnlog/turn
//
// A whole program, which saves a turn of a conversation:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//
//		"github.com/turnlog/turnlog/client"
//		"github.com/turnlog/turnlog/turn"
//	)
//
//	func main() {
//		ctx := context.Background()
//		c, err := client.New(client.Config{Addrs: []string{"127.0.0.1:7379", "127.0.0.1:7389", "127.0.0.1:7399"}})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer c.Close()
//
//		alice := c.Session("alice")
//		question := turn.NewMessage{Data: []byte(`{"role":"user","content":"Where is my order?"}`)}
//		for {
//			history, err := alice.Last(ctx, 20)
//			if err != nil {
//				log.Fatal(err)
//			}
//			answer := turn.NewMessage{Data: ask(history.Messages)}
//			saved, err := alice.Expect(history.Revision).Append(ctx, question, answer)
//			if turn.Is(err, turn.Conflict) {
//				continue // another worker has written since: read again
//			}
//			if err != nil {
//				log.Fatal(err)
//			}
//			fmt.Println("saved as messages", saved.First, "and", saved.Last)
//			return
//		}
//	}
//
//	// ask is the model.
//	func ask(history []turn.Message) []byte {
//		return []byte(`{"role":"assistant","content":"Which one?"}`)
//	}
//
// A turn.NewMessage has Data, the payload, stored byte for byte, and ID. The ID is optional here: the
// client makes one for a message that has none.
//
// Package client/turnlogtest runs a server, or a cluster whose nodes fail, for the tests of such a service.
//
// # Errors
//
// Every error is, or wraps, a *turn.Error. errors.As finds it; turn.Is and turn.KindOf ask for its Kind.
// After the kind turn.Unknown the operation may or may not have taken place; after every other kind it
// did not. Those that a program usually handles:
//
//   - turn.Conflict: a condition does not hold; Revision is the session's current revision. See below.
//   - turn.IDReused: a message has the id of an earlier message, but another payload. The caller has given
//     the same id twice.
//   - turn.Unknown: the answer was lost. An append whose messages have ids of the caller can be sent again
//     as it is; in other cases, read what has become of it.
//   - turn.Unavailable, turn.Overloaded, turn.ReadOnly: not now. The client has tried the first two again.
//   - turn.TooLarge, turn.Invalid: the call cannot succeed as it is. The errors of New are of the kind
//     Invalid.
//
// When a context ends, the error also wraps the context's error; after Close, ErrClosed.
//
// # Conflicts
//
// Session.Append and Session.Replace return a Conflict for two reasons:
//
//   - The session's revision is not the one given to Session.Expect. Read again, decide, and write with
//     the revision that was read.
//   - The caller gave ids, and some of the messages were appended before and some were not, or not by one
//     append. Reading again does not help. Append the messages one by one: those that are stored come
//     back as Duplicate.
//
// The first reason is excluded if Expect was not used, or if Revision is the one that was expected.
//
// # Retries
//
// Messages get their ids before the first send. So an append is retried under the same ids, over
// other connections and nodes, until it is answered, the context ends or Config.RetryFor has passed,
// and is stored once. Ids are checked before Expect: the retry of an append that has taken place succeeds
// with Result.Duplicate set, although the revision is no longer the expected one.
//
// Reads are retried as well. Pop, Trim, Clear, Delete, Expire, Fork, SetMetadata, Erase, and Replace
// without messages carry no ids: if their request may have left this machine and its answer is lost, they
// are not sent again, and fail as Unknown. A late repetition could change what was written since.
//
// # Concurrency
//
// Any number of goroutines may use a Client and the Sessions made from it. They share a few
// connections, and requests are pipelined. Requests of different goroutines have no order; a
// goroutine that waits for each result sees its own writes.
package client
