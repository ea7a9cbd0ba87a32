package eino

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/turnlog/turnlog/turn"
)

// encodeAll returns messages as they are stored.
func encodeAll(messages []*schema.Message) ([]turn.NewMessage, error) {
	encoded := make([]turn.NewMessage, len(messages))
	for i, m := range messages {
		data, err := encode(m)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w; nothing was stored", i+1, len(messages), err)
		}
		encoded[i].Data = data
	}
	return encoded, nil
}

func encode(m *schema.Message) ([]byte, error) {
	if m == nil || m.Role == "" {
		return nil, turn.Errorf(turn.Invalid, "it is nil, or has no role")
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", turn.Errorf(turn.Invalid, "it has no JSON form"), err)
	}
	if wasChanged(data) {
		return nil, turn.Errorf(turn.Invalid, "it has a text that is not UTF-8, which JSON would change")
	}
	return data, nil
}

// wasChanged reports whether json.Marshal has replaced what is not UTF-8. It writes \ufffd for that alone:
// a replacement character in a text stays as it is, and a backslash has another before it.
func wasChanged(data []byte) bool {
	for rest := data; ; {
		i := bytes.Index(rest, []byte(`\ufffd`))
		if i < 0 {
			return false
		}
		before := len(rest[:i]) - len(bytes.TrimRight(rest[:i], `\`))
		if before%2 == 0 {
			return true
		}
		rest = rest[i+1:]
	}
}

// decode returns the message that was stored as data.
func decode(data []byte) (*schema.Message, error) {
	m := new(schema.Message)
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("it is no message of Eino: %w", err)
	}
	if m.Role == "" {
		return nil, fmt.Errorf("it is no message of Eino: it has no role")
	}
	return m, nil
}

// decodeAll returns the messages of a session.
func decodeAll(key string, stored []turn.Message) ([]*schema.Message, error) {
	messages := make([]*schema.Message, len(stored))
	for i := range stored {
		m, err := decode(stored[i].Data)
		if err != nil {
			return nil, fmt.Errorf("session %q, message %d: %w", key, stored[i].Seq, err)
		}
		messages[i] = m
	}
	return messages, nil
}
