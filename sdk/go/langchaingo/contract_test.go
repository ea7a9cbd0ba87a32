package langchaingo_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/sdk/go/internal/adaptertest"
	"github.com/turnlog/turnlog/sdk/go/langchaingo"
	"github.com/turnlog/turnlog/turn"
)

// store is what the contract suite makes of histories.
type store struct{ *client.Client }

// history returns the history of a session, whose key may be longer than one of turnlog.
func (s store) history(session string, cfg langchaingo.Config) *langchaingo.History {
	return langchaingo.NewHistory(s.Client, session, cfg)
}

func (s store) Add(ctx context.Context, session string, messages ...contract.Message) error {
	return add(ctx, s.history(session, langchaingo.Config{}), messages)
}

func add(ctx context.Context, h *langchaingo.History, messages []contract.Message) error {
	list := make([]llms.ChatMessage, len(messages))
	ids := make([]string, len(messages))
	for i, m := range messages {
		list[i], ids[i] = chatMessage(m), m.ID
	}
	return adaptertest.Outcome(h.AddMessages(langchaingo.WithMessageIDs(ctx, ids...), list...))
}

func (s store) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	return add(ctx, s.history(session, langchaingo.Config{TTL: ttl}), turn)
}

func (s store) Load(ctx context.Context, session string) ([]contract.Message, error) {
	return load(ctx, s.history(session, langchaingo.Config{}))
}

func (s store) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	return load(ctx, s.history(session, langchaingo.Config{Last: n}))
}

func load(ctx context.Context, h *langchaingo.History) ([]contract.Message, error) {
	list, err := h.Messages(ctx)
	messages := make([]contract.Message, len(list))
	for i, m := range list {
		messages[i] = contractMessage(m)
	}
	return messages, err
}

func (s store) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	h := s.history(session, langchaingo.Config{})
	messages, err := load(ctx, h)
	revision, _ := h.Revision()
	return messages, strconv.FormatUint(revision, 10), err
}

func (s store) AddIf(ctx context.Context, session, version string, turn ...contract.Message) error {
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return err
	}
	h := s.history(session, langchaingo.Config{Conditional: true})
	h.Expect(revision)
	return add(ctx, h, turn)
}

func (s store) Clear(ctx context.Context, session string) error {
	return adaptertest.Outcome(s.history(session, langchaingo.Config{}).Clear(ctx))
}

// Corrupt makes the newest message one of another program.
func (s store) Corrupt(ctx context.Context, session string) error {
	h, err := s.Session(session).Last(ctx, 1)
	if err != nil {
		return err
	}
	_, err = s.Session(session).Replace(ctx, h.Last, turn.NewMessage{Data: []byte(`{"type":`)})
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

func TestContract(t *testing.T) {
	adaptertest.RunContract(t, "langchaingo", func(c *client.Client) contract.Store { return store{c} })
}
