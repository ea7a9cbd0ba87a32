package langchaingo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/sdk/go/internal/ids"
	"github.com/turnlog/turnlog/sdk/go/internal/whole"
)

// Config is what a History is like. The zero value keeps and reads everything.
type Config struct {
	// Last bounds Messages to that many of the newest messages; 0: all.
	Last int
	// TTL deletes the conversation that long after its last turn; 0: never.
	TTL time.Duration
	// Conditional makes adding a turn.Conflict if others changed the conversation since this History
	// last read or changed it: with a History for each request, a second worker on the same
	// conversation finds out, in place of answering to half of it. Without it, all turns are kept, in the
	// order in which they arrive.
	Conditional bool
}

// History is the messages of one conversation. Its methods may be called by any goroutine.
type History struct {
	client *client.Client
	key    string
	cfg    Config

	mu       sync.Mutex
	known    bool   // whether the conversation was read or changed
	revision uint64 // of then
}

var _ schema.ChatMessageHistory = (*History)(nil)

// NewHistory returns the history of the session of that key, 1 to 512 arbitrary bytes. It sends
// nothing: the session begins with the first message.
func NewHistory(c *client.Client, key string, cfg Config) *History {
	return &History{client: c, key: key, cfg: cfg}
}

// AddMessage implements schema.ChatMessageHistory.
func (h *History) AddMessage(ctx context.Context, message llms.ChatMessage) error {
	return h.AddMessages(ctx, message)
}

// AddUserMessage implements schema.ChatMessageHistory.
func (h *History) AddUserMessage(ctx context.Context, text string) error {
	return h.AddMessages(ctx, llms.HumanChatMessage{Content: text})
}

// AddAIMessage implements schema.ChatMessageHistory.
func (h *History) AddAIMessage(ctx context.Context, text string) error {
	return h.AddMessages(ctx, llms.AIChatMessage{Content: text})
}

// AddMessages adds the messages of a turn: all of them, next to each other, or none.
func (h *History) AddMessages(ctx context.Context, messages ...llms.ChatMessage) error {
	if len(messages) == 0 {
		return nil
	}
	encoded, err := encodeAll(messages)
	if err != nil {
		return err
	}
	if err := ids.Identify(ctx, encoded); err != nil {
		return err
	}
	session := h.client.Session(h.key)
	if h.cfg.TTL > 0 {
		session = session.TTL(h.cfg.TTL)
	}
	if revision, ok := h.expected(); ok {
		session = session.Expect(revision)
	}
	r, err := session.Append(ctx, encoded...)
	if err != nil {
		return err
	}
	h.saw(r.Revision)
	return nil
}

// Messages implements schema.ChatMessageHistory: the messages, oldest first.
func (h *History) Messages(ctx context.Context) ([]llms.ChatMessage, error) {
	var read client.History
	var err error
	if h.cfg.Last > 0 {
		read, err = h.client.Session(h.key).Last(ctx, h.cfg.Last)
	} else {
		read, err = whole.Read(ctx, h.client.Session(h.key))
	}
	if err != nil {
		return nil, err
	}
	messages := make([]llms.ChatMessage, 0, len(read.Messages))
	for i := range read.Messages {
		m, err := decode(read.Messages[i].Data)
		if err != nil {
			return nil, fmt.Errorf("session %q, message %d: %w", h.key, read.Messages[i].Seq, err)
		}
		messages = append(messages, m)
	}
	h.saw(read.Revision)
	return messages, nil
}

// SetMessages implements schema.ChatMessageHistory: it replaces all messages at once, by at most 1,000.
func (h *History) SetMessages(ctx context.Context, messages []llms.ChatMessage) error {
	if len(messages) == 0 {
		return h.Clear(ctx)
	}
	encoded, err := encodeAll(messages)
	if err != nil {
		return err
	}
	tx := h.transaction().Clear(h.key).Append(h.key, encoded...)
	if h.cfg.TTL > 0 {
		tx.Expire(h.key, h.cfg.TTL, false)
	}
	r, err := tx.Commit(ctx)
	if err != nil {
		return err
	}
	h.saw(r.Revision) // of the namespace's last change, which is the last step
	return nil
}

// Clear implements schema.ChatMessageHistory.
func (h *History) Clear(ctx context.Context) error {
	r, err := h.transaction().Clear(h.key).Commit(ctx)
	if err != nil {
		return err
	}
	h.saw(r.Steps[0].Result.Revision)
	return nil
}

// Revision returns the revision of the conversation as this History last read or changed it. A program can
// send it along, and Expect it in the request that follows.
func (h *History) Revision() (revision uint64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.revision, h.known
}

// Expect makes the next change a turn.Conflict if the conversation has another revision, as if it had been
// read at that one. It is for a History that is conditional.
func (h *History) Expect(revision uint64) { h.saw(revision) }

// transaction returns a transaction with the condition of this history, if it has one.
func (h *History) transaction() *client.Transaction {
	tx := h.client.Transaction()
	if revision, ok := h.expected(); ok {
		tx.IfRevision(h.key, revision)
	}
	return tx
}

// expected returns the revision that the conversation must have for a change to be made.
func (h *History) expected() (revision uint64, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.revision, h.known && h.cfg.Conditional
}

func (h *History) saw(revision uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known, h.revision = true, revision
}
