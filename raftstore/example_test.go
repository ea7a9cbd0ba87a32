package raftstore_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"

	"github.com/turnlog/turnlog/raftstore"
	"github.com/turnlog/turnlog/turn"
)

// A cluster of one node. What Apply has acknowledged is durable on a majority, and every linearizable
// query after it sees it.
func Example() {
	dir, err := os.MkdirTemp("", "raftstore")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	nodes, err := net.Listen("tcp", "127.0.0.1:0") // for other nodes
	if err != nil {
		log.Fatal(err)
	}
	n, err := raftstore.Open(raftstore.Config{NodeID: "n1", DataDir: dir, Peers: raftstore.Peers{Listener: nodes}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()

	alice := turn.Key{Namespace: turn.DefaultNamespace, Name: "alice"}
	r, err := n.Apply(ctx, &turn.Append{Key: alice, Messages: []turn.NewMessage{{Data: []byte("hi")}}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("message", r.First)
	r, err = n.Query(ctx, &turn.Info{Key: alice}, turn.Consistency{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the session has", r.Session.Count)

	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// message 1
	// the session has 1
	// ended: <nil>
}
