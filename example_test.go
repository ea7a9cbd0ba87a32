package turnlog_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/turn"
)

// An agent's memory in its own process.
func Example() {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := turnlog.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	ctx := context.Background()
	alice := db.Session("alice")
	if _, err := alice.Append(ctx,
		turn.NewMessage{Data: []byte("Where is my order?")},
		turn.NewMessage{Data: []byte("It left this morning.")}); err != nil {
		log.Fatal(err)
	}
	h, err := alice.Last(ctx, 20)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range h.Messages {
		fmt.Println(m.Seq, string(m.Data))
	}
	// Output:
	// 1 Where is my order?
	// 2 It left this morning.
}

// Code that takes a *client.Client works on an embedded node and on a cluster.
func ExampleDB() {
	remember := func(c *client.Client, text string) (turn.Result, error) {
		return c.Session("alice").Append(context.Background(), turn.NewMessage{Data: []byte(text)})
	}

	db, err := turnlog.OpenMemory()
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	r, err := remember(db.Client, "hi")
	fmt.Println("message", r.First, err)
	// Output: message 1 <nil>
}

// A unit test has a memory of its own, and nothing to remove.
func ExampleOpenMemory() {
	db, err := turnlog.OpenMemory() // in a test, with t.Cleanup
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	r, err := db.Session("alice").Append(context.Background(), turn.NewMessage{Data: []byte("hi")})
	if err != nil {
		log.Fatal(err)
	}
	_, err = db.Session("alice").Expect(0).Append(context.Background(), turn.NewMessage{Data: []byte("too late")})
	fmt.Println("revision", r.Revision, "kind", turn.KindOf(err))
	// Output: revision 1 kind CONFLICT
}

// An embedded node that also serves other programs: here over Redis's protocol, and for other nodes
// that are to join it.
func ExampleOpenCluster() {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	db, err := turnlog.OpenCluster(turnlog.Config{
		Dir:     dir,
		NodeID:  "n1",
		Peers:   turnlog.Peers{Addr: "127.0.0.1:0"},
		Servers: turnlog.Servers{RESPAddr: "127.0.0.1:0"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	c, err := client.New(client.Config{Addrs: []string{db.RESPAddr()}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Session("alice").Append(context.Background(), turn.NewMessage{Data: []byte("hi")}); err != nil {
		log.Fatal(err)
	}
	info, err := db.Session("alice").Info(context.Background())
	fmt.Println(info.Count, "message", err)
	// Output: 1 message <nil>
}
