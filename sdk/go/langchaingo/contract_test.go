package langchaingo_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/sdk/go/langchaingo"
	"github.com/turnlog/turnlog/turn"
)

// store is what the contract suite makes of histories.
type store struct{ *client.Client }

// history returns the history of a session, whose key may be longer than one of turnlog.
func (s store) history(session string) *langchaingo.History {
	return langchaingo.NewHistory(s.Client, session, langchaingo.Config{})
}

func (s store) Add(ctx context.Context, session string, messages ...contract.Message) error {
	list := make([]llms.ChatMessage, len(messages))
	for i, m := range messages {
		list[i] = chatMessage(m)
	}
	return refusal(s.history(session).AddMessages(ctx, list...))
}

func (s store) Load(ctx context.Context, session string) ([]contract.Message, error) {
	list, err := s.history(session).Messages(ctx)
	messages := make([]contract.Message, len(list))
	for i, m := range list {
		messages[i] = contractMessage(m)
	}
	return messages, err
}

func (s store) Clear(ctx context.Context, session string) error { return s.history(session).Clear(ctx) }

// refusal marks the errors that say that a message can never be stored.
func refusal(err error) error {
	switch turn.KindOf(err) {
	case turn.Invalid, turn.TooLarge:
		return errors.Join(err, contract.ErrRefused)
	}
	return err
}

func chatMessage(m contract.Message) llms.ChatMessage {
	switch m.Role {
	case "system":
		return llms.SystemChatMessage{Content: m.Content}
	case "assistant":
		ai := llms.AIChatMessage{Content: m.Content}
		for _, c := range m.ToolCalls {
			ai.ToolCalls = append(ai.ToolCalls, llms.ToolCall{ID: c.ID, Type: "function",
				FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
		}
		return ai
	case "tool":
		return llms.ToolChatMessage{ID: m.ToolCallID, Content: m.Content}
	}
	return llms.HumanChatMessage{Content: m.Content}
}

func contractMessage(m llms.ChatMessage) contract.Message {
	roles := map[llms.ChatMessageType]string{llms.ChatMessageTypeSystem: "system", llms.ChatMessageTypeAI: "assistant",
		llms.ChatMessageTypeTool: "tool", llms.ChatMessageTypeHuman: "user"}
	out := contract.Message{Role: roles[m.GetType()], Content: m.GetContent()}
	switch m := m.(type) {
	case llms.ToolChatMessage:
		out.ToolCallID = m.ID
	case llms.AIChatMessage:
		for _, c := range m.ToolCalls {
			out.ToolCalls = append(out.ToolCalls,
				contract.ToolCall{ID: c.ID, Name: c.FunctionCall.Name, Arguments: c.FunctionCall.Arguments})
		}
	}
	return out
}

// TestContract holds histories on a cluster to what any memory of agents is, while leaders, and all
// nodes at once, are killed.
func TestContract(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	cluster := turnlogtest.StartCluster(t)
	suite := contract.Suite{Target: contract.Target{
		Name:   "langchaingo",
		Claims: contract.Claims{Linearizable: true},
		Open: func(context.Context) (contract.Store, error) {
			c, err := client.New(client.Config{Addrs: cluster.Addrs(), RetryFor: 30 * time.Second})
			return store{c}, err
		},
		Restarts: []contract.Restart{
			{Kind: contract.CanKillLead, Do: func(ctx context.Context) error { return killLeader(ctx, cluster) }},
			{Kind: contract.CanKillAll, Do: func(ctx context.Context) error { return killAll(ctx, cluster) }},
		},
	}}
	suite.Run(t)
}

// killLeader replaces the leader, and lets it come back as a follower.
func killLeader(ctx context.Context, c *turnlogtest.Cluster) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	if err := leader.Kill(); err != nil {
		return err
	}
	if _, err := c.Leader(ctx); err != nil {
		return err
	}
	return leader.Restart()
}

func killAll(ctx context.Context, c *turnlogtest.Cluster) error {
	for _, n := range c.Nodes() {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	for _, n := range c.Nodes() {
		if err := n.Restart(); err != nil {
			return err
		}
	}
	_, err := c.Leader(ctx)
	return err
}
