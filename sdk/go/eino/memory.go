package eino

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/sdk/go/internal/ids"
	"github.com/turnlog/turnlog/sdk/go/internal/whole"
	"github.com/turnlog/turnlog/turn"
)

// Config is what a Memory is like. The zero value keeps and reads everything.
type Config struct {
	// Prefix begins the keys of the conversations in turnlog; the id of the session follows.
	Prefix string
	// Last bounds Read to that many of the newest messages, and MaxTokens to as many as fit, of about four
	// bytes each; 0: all. A budget of tokens never separates a tool's result from its call.
	Last      int
	MaxTokens int64
	// TTL deletes a conversation that long after its last turn; 0: never.
	TTL time.Duration
	// Conditional makes a change a turn.Conflict if others changed the conversation since this Memory
	// last read or changed it: with a Memory for each request, a second worker on the same conversation
	// finds out, in place of answering to half of it. The Memory then remembers each session that it saw.
	// Without it, turns that are appended are all kept, in the order in which they arrive.
	Conditional bool
}

// Memory keeps conversations. Its methods may be called by any goroutine.
type Memory struct {
	client *client.Client
	cfg    Config
	seen   revisions
}

// NewMemory returns a memory of conversations. It sends nothing.
func NewMemory(c *client.Client, cfg Config) *Memory {
	return &Memory{client: c, cfg: cfg, seen: newRevisions(cfg.Conditional)}
}

// Append adds the messages of a turn at the end of a conversation: all of them, next to each other, or
// none.
func (m *Memory) Append(ctx context.Context, id string, messages ...*schema.Message) error {
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
	session := m.session(id)
	if revision, ok := m.seen.of(id); ok {
		session = session.Expect(revision)
	}
	return m.append(ctx, id, session, encoded)
}

func (m *Memory) append(ctx context.Context, id string, s client.Session, messages []turn.NewMessage) error {
	if m.cfg.TTL > 0 {
		s = s.TTL(m.cfg.TTL)
	}
	r, err := s.Append(ctx, messages...)
	if err != nil {
		return err
	}
	m.seen.saw(id, r.Revision)
	return nil
}

// Read returns the messages of a conversation, oldest first; none if it was never written.
func (m *Memory) Read(ctx context.Context, id string) ([]*schema.Message, error) {
	var h client.History
	var err error
	if m.isBounded() {
		h, err = m.session(id).Read(ctx, turn.Read{From: turn.FromLast, Limit: m.cfg.Last, MaxTokens: m.cfg.MaxTokens})
	} else {
		h, err = whole.Read(ctx, m.session(id))
	}
	if err != nil {
		return nil, err
	}
	messages, err := decodeAll(m.cfg.Prefix+id, h.Messages)
	if err == nil {
		m.seen.saw(id, h.Revision)
	}
	return messages, err
}

// Write makes the messages the whole conversation. If it begins with what is stored, only the rest is sent;
// otherwise everything is replaced at once, by at most 1,000 messages. Unless the Memory is conditional, the
// last call wins. A Memory whose reads are bounded does not write, which would delete what was not
// read: Append is for it.
func (m *Memory) Write(ctx context.Context, id string, messages []*schema.Message) error {
	if m.isBounded() {
		return turn.Errorf(turn.Invalid, "this memory reads only the newest messages, and writing them as the whole "+
			"conversation would delete the others: use Append; nothing was changed")
	}
	encoded, err := encodeAll(messages)
	if err != nil {
		return err
	}
	for {
		err := m.write(ctx, id, encoded)
		if !turn.Is(err, turn.Conflict) || m.cfg.Conditional || ctx.Err() != nil {
			return err
		}
	}
}

// write is Write, and a conflict if the conversation changes in between.
func (m *Memory) write(ctx context.Context, id string, messages []turn.NewMessage) error {
	stored, err := whole.Read(ctx, m.session(id))
	if err != nil {
		return err
	}
	revision := stored.Revision
	if expected, ok := m.seen.of(id); ok {
		revision = expected
	}
	if !isPrefix(stored.Messages, messages) {
		return m.replace(ctx, id, revision, messages)
	}
	added := messages[len(stored.Messages):]
	if len(added) == 0 && revision == stored.Revision {
		return nil
	}
	if len(added) == 0 {
		return m.replace(ctx, id, revision, messages) // which is a conflict
	}
	return m.append(ctx, id, m.session(id).Expect(revision), added)
}

// isPrefix reports whether messages begin with those that are stored.
func isPrefix(stored []turn.Message, messages []turn.NewMessage) bool {
	if len(stored) > len(messages) {
		return false
	}
	for i := range stored {
		if !bytes.Equal(stored[i].Data, messages[i].Data) {
			return false
		}
	}
	return true
}

func (m *Memory) replace(ctx context.Context, id string, revision uint64, messages []turn.NewMessage) error {
	key := m.cfg.Prefix + id
	tx := m.client.Transaction().IfRevision(key, revision).Clear(key)
	if len(messages) > 0 {
		tx.Append(key, messages...)
	}
	if m.cfg.TTL > 0 {
		tx.Expire(key, m.cfg.TTL, false)
	}
	r, err := tx.Commit(ctx)
	if err != nil {
		return err
	}
	m.seen.saw(id, r.Revision) // of the namespace's last change, which is the conversation's
	return nil
}

// Query returns the messages of a conversation whose text has the words in it, in upper or lower case, oldest
// first and at most limit of them; 0: all.
func (m *Memory) Query(ctx context.Context, id, text string, limit int) ([]*schema.Message, error) {
	if text == "" {
		return nil, nil
	}
	var found []*schema.Message
	for stored, err := range m.session(id).All(ctx, 0) {
		if err != nil {
			return nil, err
		}
		one, err := decodeAll(m.cfg.Prefix+id, []turn.Message{stored})
		if err != nil {
			return nil, err
		}
		if strings.Contains(strings.ToLower(one[0].Content), strings.ToLower(text)) {
			found = append(found, one[0])
		}
		if limit > 0 && len(found) == limit {
			break
		}
	}
	return found, nil
}

// Delete removes a conversation. It is not an error if there is none.
func (m *Memory) Delete(ctx context.Context, id string) error {
	session := m.session(id)
	if revision, ok := m.seen.of(id); ok {
		session = session.Expect(revision)
	}
	if _, err := session.Delete(ctx); err != nil {
		return err
	}
	m.seen.saw(id, 0)
	return nil
}

// Revision returns the revision of a conversation as this Memory, which is conditional, last saw it. A
// program can send it along, and Expect it in the request that follows.
func (m *Memory) Revision(id string) (revision uint64, ok bool) { return m.seen.of(id) }

// Expect makes the next change a turn.Conflict if the conversation has another revision, as if it had been
// read at that one. It is for a Memory that is conditional.
func (m *Memory) Expect(id string, revision uint64) { m.seen.saw(id, revision) }

func (m *Memory) isBounded() bool { return m.cfg.Last > 0 || m.cfg.MaxTokens > 0 }

func (m *Memory) session(id string) client.Session { return m.client.Session(m.cfg.Prefix + id) }
