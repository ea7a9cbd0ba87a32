package eino_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/contract"
	"github.com/turnlog/turnlog/sdk/go/eino"
	"github.com/turnlog/turnlog/sdk/go/internal/adaptertest"
	"github.com/turnlog/turnlog/turn"
)

// store is what the contract suite makes of a memory.
type store struct{ *client.Client }

func (s store) memory(cfg eino.Config) *eino.Memory { return eino.NewMemory(s.Client, cfg) }

func (s store) Add(ctx context.Context, session string, messages ...contract.Message) error {
	return s.add(ctx, s.memory(eino.Config{}), session, messages)
}

func (s store) add(ctx context.Context, m *eino.Memory, session string, messages []contract.Message) error {
	list := make([]*schema.Message, len(messages))
	ids := make([]string, len(messages))
	for i, m := range messages {
		list[i], ids[i] = einoMessage(m), m.ID
	}
	return adaptertest.Outcome(m.Append(eino.WithMessageIDs(ctx, ids...), session, list...))
}

func (s store) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	return s.add(ctx, s.memory(eino.Config{TTL: ttl}), session, turn)
}

func (s store) Load(ctx context.Context, session string) ([]contract.Message, error) {
	return s.load(ctx, s.memory(eino.Config{}), session)
}

func (s store) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	return s.load(ctx, s.memory(eino.Config{Last: n}), session)
}

func (s store) load(ctx context.Context, m *eino.Memory, session string) ([]contract.Message, error) {
	list, err := m.Read(ctx, session)
	messages := make([]contract.Message, len(list))
	for i, m := range list {
		messages[i] = contractMessage(m)
	}
	return messages, err
}

func (s store) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	m := s.memory(eino.Config{Conditional: true})
	messages, err := s.load(ctx, m, session)
	revision, _ := m.Revision(session)
	return messages, strconv.FormatUint(revision, 10), err
}

func (s store) AddIf(ctx context.Context, session, version string, turn ...contract.Message) error {
	revision, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return err
	}
	m := s.memory(eino.Config{Conditional: true})
	m.Expect(session, revision)
	return s.add(ctx, m, session, turn)
}

func (s store) Clear(ctx context.Context, session string) error {
	return adaptertest.Outcome(s.memory(eino.Config{}).Write(ctx, session, nil))
}

func (s store) Delete(ctx context.Context, session string) error {
	return adaptertest.Outcome(s.memory(eino.Config{}).Delete(ctx, session))
}

// Corrupt makes the newest message one of another program.
func (s store) Corrupt(ctx context.Context, session string) error {
	h, err := s.Session(session).Last(ctx, 1)
	if err != nil {
		return err
	}
	_, err = s.Session(session).Replace(ctx, h.Last, turn.NewMessage{Data: []byte(`{"role":`)})
	return err
}

func einoMessage(m contract.Message) *schema.Message {
	out := &schema.Message{Role: schema.RoleType(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, schema.ToolCall{ID: c.ID, Type: "function",
			Function: schema.FunctionCall{Name: c.Name, Arguments: c.Arguments}})
	}
	return out
}

func contractMessage(m *schema.Message) contract.Message {
	out := contract.Message{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls,
			contract.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return out
}

func TestContract(t *testing.T) {
	adaptertest.RunContract(t, "eino", func(c *client.Client) contract.Store { return store{c} })
}
