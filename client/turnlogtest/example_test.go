package turnlogtest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/turn"
)

// A test has its server by turnlogtest.Start(t). All tests of a package can share one that
// TestMain opens, each with a namespace of its own.
func Example() {
	dir, err := os.MkdirTemp("", "turnlogtest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := turnlogtest.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	c, err := client.New(client.Config{Addrs: []string{server.Addr()}, Namespace: "of-this-test"})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	r, err := c.Session("alice").Append(context.Background(), turn.NewMessage{Data: []byte("hi")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("message", r.First)
	// Output: message 1
}

// Acknowledged messages survive the leader. In a test, turnlogtest.StartCluster(t) does what NewCluster
// and Close do here.
func ExampleCluster() {
	dir, err := os.MkdirTemp("", "turnlogtest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cluster, err := turnlogtest.NewCluster(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	c, err := client.New(client.Config{Addrs: cluster.Addrs()})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	alice := c.Session("alice")
	if _, err := alice.Append(ctx, turn.NewMessage{Data: []byte("My order is 4711.")}); err != nil {
		log.Fatal(err)
	}
	leader, err := cluster.Leader(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := leader.Kill(); err != nil {
		log.Fatal(err)
	}
	h, err := alice.Last(ctx, 1) // from the others
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", h.Messages[0].Data)
	// Output: My order is 4711.
}
