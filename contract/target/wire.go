package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
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
	Timeout       int64         `json:"timeout_ms,omitempty"`
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

// execStore is a handle on a store behind an adapter.
type execStore struct {
	p   *process
	own bool // the process serves this handle only
}

func (s *execStore) Supports(c contract.Capability) bool {
	return c != contract.CanNamespace && slices.Contains(s.p.hello.Can, string(c))
}

func (s *execStore) Add(ctx context.Context, session string, turn ...contract.Message) error {
	r := on("add", session)
	r.Turn = toWire(turn)
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) AddTTL(ctx context.Context, session string, ttl time.Duration, turn ...contract.Message) error {
	r := on("add", session)
	r.Turn, r.TTL = toWire(turn), ttl.Milliseconds()
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) AddIf(ctx context.Context, session, version string, turn ...contract.Message) error {
	r := on("add", session)
	r.Turn, r.Version = toWire(turn), version
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) AddAsync(ctx context.Context, session string, turn ...contract.Message) <-chan error {
	r := on("add", session)
	r.Turn, r.Async = toWire(turn), true
	done := make(chan error, 1)
	go func() {
		_, err := s.p.call(ctx, r)
		done <- err
	}()
	return done
}

func (s *execStore) LoadAsync(ctx context.Context, session string) <-chan contract.Loaded {
	r := on("load", session)
	r.Async = true
	done := make(chan contract.Loaded, 1)
	go func() {
		ms, _, err := s.load(ctx, r)
		done <- contract.Loaded{Messages: ms, Err: err}
	}()
	return done
}

func (s *execStore) ClearAsync(ctx context.Context, session string) <-chan error {
	r := on("clear", session)
	r.Async = true
	done := make(chan error, 1)
	go func() {
		_, err := s.p.call(ctx, r)
		done <- err
	}()
	return done
}

func (s *execStore) Corrupt(ctx context.Context, session string) error {
	_, err := s.p.call(ctx, on("corrupt", session))
	return err
}

func (s *execStore) load(ctx context.Context, r wireRequest) ([]contract.Message, string, error) {
	reply, err := s.p.call(ctx, r)
	if err != nil {
		return nil, "", err
	}
	return fromWire(reply.Messages), reply.Version, nil
}

func (s *execStore) LoadVersion(ctx context.Context, session string) ([]contract.Message, string, error) {
	return s.load(ctx, on("load", session))
}

func (s *execStore) Load(ctx context.Context, session string) ([]contract.Message, error) {
	ms, _, err := s.load(ctx, on("load", session))
	return ms, err
}

func (s *execStore) LoadLast(ctx context.Context, session string, n int) ([]contract.Message, error) {
	r := on("load", session)
	r.Last = n
	ms, _, err := s.load(ctx, r)
	return ms, err
}

func (s *execStore) Clear(ctx context.Context, session string) error {
	_, err := s.p.call(ctx, on("clear", session))
	return err
}

func (s *execStore) Delete(ctx context.Context, session string) error {
	_, err := s.p.call(ctx, on("delete", session))
	return err
}

func (s *execStore) Trim(ctx context.Context, session string, keep int) error {
	r := on("trim", session)
	r.Keep = &keep
	_, err := s.p.call(ctx, r)
	return err
}

func (s *execStore) Pop(ctx context.Context, session string) (contract.Message, bool, error) {
	ms, _, err := s.load(ctx, on("pop", session))
	if err != nil || len(ms) == 0 {
		return contract.Message{}, false, err
	}
	return ms[0], true, nil
}

func (s *execStore) Sessions(ctx context.Context, prefix string) ([]string, error) {
	reply, err := s.p.call(ctx, wireRequest{Op: "list", Prefix: prefix})
	return reply.Sessions, err
}

func (s *execStore) Namespace(context.Context, string) (contract.Store, error) {
	return nil, errors.ErrUnsupported
}

func (s *execStore) Close() error {
	if s.own {
		s.p.end(false)
	}
	return nil
}
