package target

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/turnlog/turnlog/contract"
)

// The lines that the suite and an adapter exchange; docs/contract.md describes
// them to those who write adapters.

type wireRequest struct {
	Number   uint64 `json:"n"`
	Op       string `json:"op"`
	Protocol int    `json:"protocol,omitempty"`
	// Session, or if that is no UTF-8, its bytes.
	Session       string        `json:"session,omitempty"`
	SessionBase64 []byte        `json:"session_base64,omitempty"`
	Turn          []wireMessage `json:"turn,omitempty"`
	TTL           int64         `json:"ttl_ms,omitempty"`
	Version       string        `json:"version,omitempty"`
	Async         bool          `json:"async,omitempty"`
	Last          int           `json:"last,omitempty"`
	Keep          *int          `json:"keep,omitempty"`
	Prefix        string        `json:"prefix,omitempty"`
	// Of metadata and labels.
	Metadata     map[string]string `json:"metadata,omitempty"`
	MustExist    bool              `json:"must_exist,omitempty"`
	WithMetadata bool              `json:"with_metadata,omitempty"`
	Label        string            `json:"label,omitempty"`
	Value        string            `json:"value,omitempty"`
	Timeout      int64             `json:"timeout_ms,omitempty"`
}

type wireReply struct {
	Number uint64     `json:"n"`
	Error  *wireError `json:"error,omitempty"`
	// hello
	Name       string   `json:"name,omitempty"`
	Can        []string `json:"can,omitempty"`
	Shared     bool     `json:"shared,omitempty"`
	Concurrent bool     `json:"concurrent,omitempty"`
	MaxBytes   int      `json:"max_bytes,omitempty"`
	// the other operations
	Messages []wireMessage `json:"messages,omitempty"`
	Version  string        `json:"version,omitempty"`
	Sessions []string      `json:"sessions,omitempty"`

	Metadata map[string]string `json:"metadata,omitempty"`
}

type wireError struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

type wireMessage struct {
	ID            string     `json:"id,omitempty"`
	Role          string     `json:"role,omitempty"`
	Content       string     `json:"content"`
	ContentBase64 []byte     `json:"content_base64,omitempty"`
	ToolCalls     []wireCall `json:"tool_calls,omitempty"`
	ToolCallID    string     `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

var wireKinds = map[string]error{
	"conflict":    contract.ErrConflict,
	"refused":     contract.ErrRefused,
	"not_applied": contract.ErrNotApplied,
}

func (r *wireReply) err() error {
	if r.Error == nil {
		return nil
	}
	err := errors.New(r.Error.Message)
	if meaning, ok := wireKinds[r.Error.Kind]; ok {
		return fmt.Errorf("%w: %w", meaning, err)
	}
	return err
}

func toWire(ms []contract.Message) []wireMessage {
	out := make([]wireMessage, len(ms))
	for i, m := range ms {
		w := wireMessage{ID: m.ID, Role: m.Role, Content: m.Content, ToolCallID: m.ToolCallID}
		if !utf8.ValidString(m.Content) {
			w.Content, w.ContentBase64 = "", []byte(m.Content)
		}
		for _, c := range m.ToolCalls {
			w.ToolCalls = append(w.ToolCalls, wireCall(c))
		}
		out[i] = w
	}
	return out
}

func fromWire(ws []wireMessage) []contract.Message {
	out := make([]contract.Message, len(ws))
	for i, w := range ws {
		m := contract.Message{ID: w.ID, Role: w.Role, Content: w.Content, ToolCallID: w.ToolCallID}
		if w.ContentBase64 != nil {
			m.Content = string(w.ContentBase64)
		}
		for _, c := range w.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, contract.ToolCall(c))
		}
		out[i] = m
	}
	return out
}

// on returns a request on a session.
func on(op, session string) wireRequest {
	if !utf8.ValidString(session) {
		return wireRequest{Op: op, SessionBase64: []byte(session)}
	}
	return wireRequest{Op: op, Session: session}
}
