package eino_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/sdk/go/eino"
)

// script is a model that says how many messages it got.
type script struct{}

func (script) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage(fmt.Sprintf("I read %d messages.", len(in)), nil), nil
}

func (s script) Stream(ctx context.Context, in []*schema.Message, options ...model.Option) (
	*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, in, options...)
	return schema.StreamReaderFromArray([]*schema.Message{m}), err
}

func (s script) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

// An agent with a memory: each request reads the conversation, and adds its turn as a whole.
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

	ctx := context.Background()
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "orders", Description: "knows orders",
		Model: script{}})
	if err != nil {
		log.Fatal(err)
	}
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent,
		CheckPointStore: eino.NewCheckPoints(c, eino.CheckPointConfig{})})
	for _, request := range []string{"request-17", "request-18"} {
		memory := eino.NewMemory(c, eino.Config{Conditional: true}) // for this request
		history, err := memory.Read(ctx, "alice")
		if err != nil {
			log.Fatal(err)
		}
		turn := []*schema.Message{schema.UserMessage("Where is my order?")}
		events := runner.Run(ctx, append(history, turn...))
		for event, ok := events.Next(); ok; event, ok = events.Next() {
			if event.Err != nil {
				log.Fatal(event.Err)
			}
			answer, _, err := adk.GetMessage(event)
			if err != nil {
				log.Fatal(err)
			}
			turn = append(turn, answer)
			fmt.Println(answer.Content)
		}
		if err := memory.Append(eino.WithTurnID(ctx, request), "alice", turn...); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// I read 1 messages.
	// I read 3 messages.
}
