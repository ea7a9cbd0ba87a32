package turnlogtest_test

import (
	"context"
	"fmt"
	"log"
	"os"

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
