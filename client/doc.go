// Package client is the Go client of turnlog, for agent services: it appends to, reads, follows and
// changes sessions, over RESP3, through any node of a cluster.
//
// The types of its messages and errors are in package turn:
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
// A turn.NewMessage has Data, the payload, which is stored byte for byte, and an ID. The ID is
// optional: the client generates one for a message that has none.
//
// Package client/turnlogtest runs a server, or a cluster whose nodes fail, for the tests of a program
// that uses this package.
//
// # Errors
//
// Every error is, or wraps, a *turn.Error. errors.As finds it; turn.Is and turn.KindOf examine its
// Kind. After an error of kind turn.Unknown, the operation may or may not have taken place; after every
// other kind, it did not. These are the kinds that a program usually handles:
//
//   - turn.Conflict: a condition does not hold; Revision is the session's current revision. See below.
//   - turn.IDReused: a message has the id of an earlier message, but another payload. The caller has given
//     the same id twice.
//   - turn.Unknown: the answer was lost. If the caller gave ids to the messages of an append, it can
//     repeat the append unchanged. After any other write, read the session to learn whether it took
//     place.
//   - turn.Unavailable, turn.Overloaded, turn.ReadOnly: the cluster cannot carry out the call at
//     present. In the first two cases, the client has already retried it.
//   - turn.TooLarge, turn.Invalid: the call cannot succeed as it is. The errors of New are of kind
//     Invalid, and so is what a node of an older version does not know. What a newer node answers beyond
//     what this package knows is passed over.
//
// If a context ends, the error also wraps the context's error; after Close, it wraps ErrClosed.
//
// # Conflicts
//
// Session.Append and Session.Replace return a Conflict for two reasons:
//
//   - The session's revision is not the one given to Session.Expect. Read again, decide, and write with
//     the revision that was read.
//   - The caller gave ids, and only some of the messages were appended before, or not all by one
//     append. Reading again does not help. Append the messages one by one: for those that are already
//     stored, the Result has Duplicate set.
//
// If Expect was not used, or the error's Revision is the expected one, the second reason applies.
//
// # Retries
//
// Messages get their ids before they are sent for the first time. An append is therefore retried under
// the same ids, over other connections and nodes, until it is answered, the context ends, or
// Config.RetryFor has passed. It is stored at most once, unless others append turn.IDWindow messages to
// the same session between two attempts. Ids are checked before Expect: the retry of an append that has
// taken place succeeds with Result.Duplicate set, although the revision is no longer the expected one.
// Transactions, which include Hash.Set and Hash.Remove, have an id of their own, and are retried in the
// same way, however much is written in the meantime.
//
// Reads are retried as well. All other writes carry no ids: Pop, TrimKeep, TrimBefore, Edit, Remove,
// Clear, Delete, Expire, ExpireAt, Persist, Retain, Fork, Rename, SetMetadata, Erase, EraseAll, and
// Replace without messages. If such a request may have left this machine and its answer is lost, it is not repeated,
// and the error is Unknown: a late repetition could undo what was written since.
//
// # Concurrency
//
// Any number of goroutines may use a Client and the handles made from it. They share a few connections,
// on which requests are pipelined. Requests of different goroutines are not ordered; a goroutine that
// waits for each result sees its own writes.
package client
