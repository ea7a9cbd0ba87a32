package turnlog_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/turnlog/turnlog"
	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/internal/ports"
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

// An embedded node that others join: here another of the same program; as well one that runs as `turnlog
// serve --join` on another machine. Members keep their addresses, so production has fixed ports.
func ExampleDB_AddNode() {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	open := func(id, addr string, join bool) *turnlog.DB {
		db, err := turnlog.OpenCluster(turnlog.Config{
			Dir:    filepath.Join(dir, id),
			NodeID: id,
			Peers:  turnlog.Peers{Addr: addr, Join: join},
		})
		if err != nil {
			log.Fatal(err)
		}
		return db
	}

	firstAddr, secondAddr := freeAddr(), freeAddr()
	first := open("n1", firstAddr, false)
	defer first.Close()
	if _, err := first.Session("alice").Append(ctx, turn.NewMessage{Data: []byte("hi")}); err != nil {
		log.Fatal(err)
	}

	second := open("n2", secondAddr, true) // it waits
	defer second.Close()
	if err := first.AddNode(ctx, "n2", secondAddr); err != nil {
		log.Fatal(err)
	}
	h, err := second.Session("alice").Last(ctx, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", h.Messages[0].Data)
	// Output: hi
}

// freeAddr returns an address at which nothing else listens while the tests run.
func freeAddr() string {
	addrs, err := reserved.Addrs(1)
	if err != nil {
		log.Fatal(err)
	}
	return addrs[0]
}

var reserved ports.Reserved
