package langchaingo_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/sdk/go/langchaingo"
)

// The memory of a chain: chains.NewConversation(llm, memory) loads and saves it.
func Example() {
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := turnlogtest.New(dir) // in production, a cluster
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	c, err := client.New(client.Config{Addrs: []string{server.Addr()}})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	memory := langchaingo.NewMemory(langchaingo.NewHistory(c, "alice", langchaingo.Config{}))
	// The id of the request: when it is handled again after a crash, the turn is stored once.
	ctx := langchaingo.WithTurnID(context.Background(), "request-17")
	if err := memory.SaveContext(ctx, map[string]any{"input": "Where is my order?"},
		map[string]any{"text": "It left this morning."}); err != nil {
		log.Fatal(err)
	}
	loaded, err := memory.LoadMemoryVariables(ctx, nil)
	fmt.Println(loaded["history"], err)
	// Output:
	// Human: Where is my order?
	// AI: It left this morning. <nil>
}
