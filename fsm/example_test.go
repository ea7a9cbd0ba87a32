package fsm_test

import (
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/turnlog/turnlog/fsm"
	"github.com/turnlog/turnlog/internal/codec"
	"github.com/turnlog/turnlog/turn"
)

// Entries of a log change the state; queries read it. The same entries give the same state on every
// node.
func Example() {
	dir, err := os.MkdirTemp("", "fsm")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := fsm.Open(fsm.Config{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()

	alice := turn.Key{Namespace: turn.DefaultNamespace, Name: "alice"}
	op, err := codec.EncodeOp(&turn.Append{Key: alice, Messages: []turn.NewMessage{{ID: "m1", Data: []byte("hi")}}})
	if err != nil {
		log.Fatal(err)
	}
	const noon = 1_800_000_000_000 // cluster time, in milliseconds, comes with the entry
	for index := range uint64(2) { // a client that heard no answer sends its append again
		entry := codec.AppendEntry(nil, noon, []codec.Command{{Origin: 1, Number: index + 1, Op: op}})
		for _, o := range m.Apply(index+1, 1, entry) {
			fmt.Println("message", o.Result.First, "duplicate:", o.Result.Duplicate, o.Err)
		}
	}
	r, err := m.Query(&turn.Read{Key: alice, From: turn.FromLast, Limit: 20})
	if err != nil {
		log.Fatal(err)
	}
	for _, message := range r.Messages {
		fmt.Printf("%d %s\n", message.Seq, message.Data)
	}
	// Output:
	// message 1 duplicate: false <nil>
	// message 1 duplicate: true <nil>
	// 1 hi
}
