package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Message is a message of a conversation.
type Message struct {
	// ID is the caller's idempotency key. A store that does not know ids ignores
	// it, and need not return it.
	ID string
	// Role is "system", "user", "assistant" or "tool". Empty: Content is the
	// message as such, any bytes, which only stores with Claims.Bytes get to see.
	Role string
	// Content may hold anything that Go strings can, also what is not UTF-8.
	Content string
	// ToolCalls are what an assistant asks for, ToolCallID names the call whose
	// result a tool's message is.
	ToolCalls  []ToolCall
	ToolCallID string
}

// ToolCall is a call of a tool by the model.
type ToolCall struct {
	ID, Name  string
	Arguments string // JSON
}

// Equal reports whether m and o say the same. IDs are not compared.
func (m Message) Equal(o Message) bool {
	return m.Role == o.Role && m.Content == o.Content && m.ToolCallID == o.ToolCallID &&
		slices.Equal(m.ToolCalls, o.ToolCalls)
}

// messageJSON is a chat message as most model APIs have it. Content that is not
// UTF-8 is written in base64, since JSON cannot hold it.
type messageJSON struct {
	Role          string         `json:"role"`
	Content       string         `json:"content"`
	ContentBase64 []byte         `json:"content_base64,omitempty"`
	ToolCalls     []toolCallJSON `json:"tool_calls,omitempty"`
	ToolCallID    string         `json:"tool_call_id,omitempty"`
}

type toolCallJSON struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Encode returns m, without its ID, as the bytes that a store of bytes keeps:
// JSON, or Content itself if there is no Role.
func (m Message) Encode() []byte {
	if m.Role == "" {
		return []byte(m.Content)
	}
	j := messageJSON{Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
	if !utf8.ValidString(m.Content) {
		j.Content, j.ContentBase64 = "", []byte(m.Content)
	}
	for _, c := range m.ToolCalls {
		t := toolCallJSON{ID: c.ID, Type: "function"}
		t.Function.Name, t.Function.Arguments = c.Name, c.Arguments
		j.ToolCalls = append(j.ToolCalls, t)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(j) // strings and byte slices always encode
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Decode reverses Encode.
func Decode(b []byte) Message {
	if !bytes.HasPrefix(b, []byte(`{"role":`)) {
		return Message{Content: string(b)}
	}
	var j messageJSON
	if json.Unmarshal(b, &j) != nil {
		return Message{Content: string(b)}
	}
	m := Message{Role: j.Role, Content: j.Content, ToolCallID: j.ToolCallID}
	if j.ContentBase64 != nil {
		m.Content = string(j.ContentBase64)
	}
	for _, t := range j.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, ToolCall{ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
	}
	return m
}

// String shows m in a report: shortened, on one line.
func (m Message) String() string {
	s := fmt.Sprintf("%s %s", m.Role, shorten(m.Content))
	if m.Role == "" {
		s = shorten(m.Content)
	}
	for _, c := range m.ToolCalls {
		s += fmt.Sprintf(" +call %s %s(%s)", c.ID, c.Name, shorten(c.Arguments))
	}
	if m.ToolCallID != "" {
		s += " +result of " + m.ToolCallID
	}
	return s
}

func shorten(s string) string {
	const most = 60
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}
