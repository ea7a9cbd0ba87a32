package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/turn"
)

// An agent answers a user: it reads what was said, asks the model, and saves the
// question with its answer as one turn, if no other client has written meanwhile.
func Example() {
	addr, stop := node()
	defer stop()
	ctx := context.Background()

	c, err := client.New(client.Config{Addrs: []string{addr}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	model := func(history []turn.Message, question string) string {
		return fmt.Sprintf("(having read %d messages) Which order do you mean?", len(history))
	}
	chat := func(role, content string) turn.NewMessage {
		data, _ := json.Marshal(map[string]string{"role": role, "content": content})
		return turn.NewMessage{Data: data}
	}

	alice := c.Session("user/alice")
	for _, question := range []string{"Where is my order?", "The one of Monday."} {
		for {
			history, err := alice.Last(ctx, 20)
			if err != nil {
				log.Fatal(err)
			}
			answer := model(history.Messages, question)
			_, err = alice.Expect(history.Revision).Append(ctx, chat("user", question), chat("assistant", answer))
			if turn.Is(err, turn.Conflict) {
				continue // another worker was faster: read again
			}
			if err != nil {
				log.Fatal(err)
			}
			break
		}
	}
	for m, err := range alice.All(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Seq, string(m.Data))
	}
	// Output:
	// 1 {"content":"Where is my order?","role":"user"}
	// 2 {"content":"(having read 0 messages) Which order do you mean?","role":"assistant"}
	// 3 {"content":"The one of Monday.","role":"user"}
	// 4 {"content":"(having read 2 messages) Which order do you mean?","role":"assistant"}
}

// A repetition with the same id is recognised, from any client.
func ExampleSession_Append() {
	c, stop := connected()
	defer stop()
	ctx := context.Background()

	m := turn.NewMessage{ID: "request-4711", Data: []byte(`{"role":"user","content":"hi"}`)}
	for range 2 {
		r, err := c.Session("bob").Append(ctx, m)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("seq", r.First, "duplicate", r.Duplicate)
	}
	// Output:
	// seq 1 duplicate false
	// seq 1 duplicate true
}

// Two workers find out about each other instead of overwriting.
func ExampleSession_Expect() {
	c, stop := connected()
	defer stop()
	ctx := context.Background()
	s := c.Session("carol")

	if _, err := s.Expect(0).Append(ctx, turn.NewMessage{Data: []byte("first")}); err != nil {
		log.Fatal(err)
	}
	_, err := s.Expect(0).Append(ctx, turn.NewMessage{Data: []byte("also first")})
	var e *turn.Error
	if errors.As(err, &e) {
		fmt.Println(e.Kind, "outcome:", e.Outcome())
	}
	// Output:
	// CONFLICT outcome: not_applied
}

// A tail shows each message once, in order, however often the connection breaks.
func ExampleSession_Tail() {
	c, stop := connected()
	defer stop()
	ctx := context.Background()
	s := c.Session("dora")

	go func() {
		for _, text := range []string{"one", "two", "three"} {
			if _, err := s.Append(ctx, turn.NewMessage{Data: []byte(text)}); err != nil {
				log.Print(err)
			}
		}
	}()
	for m, err := range s.Tail(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Seq, string(m.Data))
		if m.Seq == 3 {
			break
		}
	}
	// Output:
	// 1 one
	// 2 two
	// 3 three
}

// connected returns a client of a fresh node.
func connected() (*client.Client, func()) {
	addr, stop := node()
	c, err := client.New(client.Config{Addrs: []string{addr}})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() { c.Close(); stop() }
}

// node runs a node in this process; in real life it is `turnlog serve`.
func node() (addr string, stop func()) {
	dir, err := os.MkdirTemp("", "turnlog")
	if err != nil {
		log.Fatal(err)
	}
	server, err := turnlogtest.New(dir)
	if err != nil {
		log.Fatal(err)
	}
	return server.Addr(), func() { server.Close(); os.RemoveAll(dir) }
}
