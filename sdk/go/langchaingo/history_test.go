package langchaingo_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/sdk/go/internal/adaptertest"
	"github.com/turnlog/turnlog/sdk/go/langchaingo"
	"github.com/turnlog/turnlog/turn"
)

func messages(t *testing.T, h *langchaingo.History) []llms.ChatMessage {
	t.Helper()
	list, err := h.Messages(t.Context())
	adaptertest.Must(t, err)
	return list
}

// contents are the texts of messages.
func contents(list []llms.ChatMessage) (texts []string) {
	for _, m := range list {
		texts = append(texts, m.GetContent())
	}
	return texts
}

// every is a message of each kind, with all that it can have.
var every = []llms.ChatMessage{
	llms.SystemChatMessage{Content: "Be brief."},
	llms.HumanChatMessage{Content: "Where is my order? 🍎 <b>&\u2028"},
	llms.AIChatMessage{Content: "", ReasoningContent: "I should look.",
		FunctionCall: &llms.FunctionCall{Name: "old", Arguments: "{}"},
		ToolCalls: []llms.ToolCall{{ID: "c1", Type: "function",
			FunctionCall: &llms.FunctionCall{Name: "find", Arguments: `{"order":  4711, "not": `}}}},
	llms.ToolChatMessage{ID: "c1", Content: "on its way"},
	llms.FunctionChatMessage{Name: "old", Content: "yes"},
	llms.GenericChatMessage{Role: "reviewer", Name: "Ann", Content: "fine"},
	llms.AIChatMessage{Content: "It left this morning."},
}

// TestFidelity: every kind of message comes back as it was added, also one that is a pointer.
func TestFidelity(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	h := langchaingo.NewHistory(c, "alice", langchaingo.Config{})
	adaptertest.Must(t, h.AddMessages(t.Context(), every...))
	adaptertest.Must(t, h.AddMessage(t.Context(), &llms.HumanChatMessage{Content: "pointed at"}))
	adaptertest.Must(t, h.AddUserMessage(t.Context(), "user"))
	adaptertest.Must(t, h.AddAIMessage(t.Context(), "model"))
	adaptertest.Must(t, h.AddMessages(t.Context()))
	want := append(slices.Clone(every), llms.HumanChatMessage{Content: "pointed at"},
		llms.HumanChatMessage{Content: "user"}, llms.AIChatMessage{Content: "model"})
	if got := messages(t, h); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
	last := langchaingo.NewHistory(c, "alice", langchaingo.Config{Last: 2})
	if got := contents(messages(t, last)); !slices.Equal(got, []string{"user", "model"}) {
		t.Errorf("the last two are %q", got)
	}
	for _, m := range []llms.ChatMessage{nil, (*llms.AIChatMessage)(nil), llms.HumanChatMessage{Content: "\xff"},
		llms.AIChatMessage{ToolCalls: []llms.ToolCall{{FunctionCall: &llms.FunctionCall{Arguments: "\xff"}}}}} {
		err := h.AddMessages(t.Context(), llms.HumanChatMessage{Content: "with it"}, m)
		if !turn.Is(err, turn.Invalid) {
			t.Errorf("added %#v: %v", m, err)
		}
	}
	if got := messages(t, h); len(got) != len(want) {
		t.Errorf("%d messages after those that were rejected, want %d", len(got), len(want))
	}
}

// TestOthersMessages: what LangChain's histories in Python and TypeScript store is read.
func TestOthersMessages(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	read := func(data string) ([]llms.ChatMessage, error) {
		key := fmt.Sprint("s", len(data), data[len(data)/2:len(data)/2+5])
		_, err := c.Session(key).Append(t.Context(), turn.NewMessage{Data: []byte(data)})
		adaptertest.Must(t, err)
		return langchaingo.NewHistory(c, key, langchaingo.Config{}).Messages(t.Context())
	}
	for data, want := range map[string]llms.ChatMessage{
		`{"type":"human","data":{"content":"hi","additional_kwargs":{},"id":null}}`: llms.HumanChatMessage{Content: "hi"},
		`{"type":"human","data":{"content":[{"type":"text","text":"a"},"b"]}}`:      llms.HumanChatMessage{Content: "ab"},
		`{"type":"ai","data":{"content":"","tool_calls":[{"name":"find","args":{"n":1},"id":"c1"}]}}`: llms.AIChatMessage{
			ToolCalls: []llms.ToolCall{{ID: "c1", Type: "function",
				FunctionCall: &llms.FunctionCall{Name: "find", Arguments: `{"n":1}`}}}},
		`{"type":"generic","data":{"content":"fine","role":"x"}}`: llms.GenericChatMessage{Content: "fine", Role: "x"},
	} {
		if got, err := read(data); err != nil || !reflect.DeepEqual(got, []llms.ChatMessage{want}) {
			t.Errorf("%s: %#v, %v", data, got, err)
		}
	}
	for data, why := range map[string]string{
		`no JSON at all`: "no message of LangChain",
		`{"type":"human","data":{"content":[{"type":"image_url","image_url":{}}]}}`: `a part of type "image_url"`,
		`{"type":"human","data":{}}`:                     "it has no content",
		`{"type":"martian","data":{"content":"greets"}}`: "martian",
	} {
		if _, err := read(data); err == nil || !strings.Contains(err.Error(), why) ||
			!strings.Contains(err.Error(), "message 1") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// TestReplacing: SetMessages and Clear replace everything at once, and long conversations are read whole.
func TestReplacing(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	h := langchaingo.NewHistory(c, "alice", langchaingo.Config{Conditional: true, TTL: time.Hour})
	adaptertest.Must(t, h.Clear(t.Context()))
	adaptertest.Must(t, h.AddUserMessage(t.Context(), "old"))
	adaptertest.Must(t, h.SetMessages(t.Context(), every[:2]))
	adaptertest.Must(t, h.AddMessages(t.Context(), every[2:]...)) // the revision is known
	if got := messages(t, h); !reflect.DeepEqual(got, every) {
		t.Errorf("read %#v", got)
	}
	info, err := c.Session("alice").Info(t.Context())
	if err != nil || info.ExpiresAt == 0 {
		t.Errorf("no expiry: %+v, %v", info, err)
	}
	adaptertest.Must(t, h.SetMessages(t.Context(), nil))
	adaptertest.Must(t, h.AddUserMessage(t.Context(), "new"))
	adaptertest.Must(t, h.Clear(t.Context()))
	if got := messages(t, h); len(got) != 0 {
		t.Errorf("after Clear: %#v", got)
	}
	long := strings.Repeat("x", 5<<20) // more than one answer holds of them
	for range 5 {
		adaptertest.Must(t, h.AddUserMessage(t.Context(), long))
	}
	if got := messages(t, h); len(got) != 5 {
		t.Errorf("%d messages of 5", len(got))
	}
}

// TestConditional: of two workers that have read the same, one adds.
func TestConditional(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	a := langchaingo.NewHistory(c, "alice", langchaingo.Config{Conditional: true})
	b := langchaingo.NewHistory(c, "alice", langchaingo.Config{Conditional: true})
	for _, h := range []*langchaingo.History{a, b} {
		messages(t, h)
	}
	adaptertest.Must(t, a.AddUserMessage(t.Context(), "first"))
	adaptertest.Must(t, a.AddAIMessage(t.Context(), "second"))
	for what, err := range map[string]error{
		"add":   b.AddUserMessage(t.Context(), "late"),
		"set":   b.SetMessages(t.Context(), every),
		"clear": b.Clear(t.Context()),
	} {
		if !turn.Is(err, turn.Conflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := contents(messages(t, b)); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("stored %q", got)
	}
	revision, ok := b.Revision()
	adaptertest.Must(t, b.AddUserMessage(t.Context(), "now")) // it has read
	web := langchaingo.NewHistory(c, "alice", langchaingo.Config{Conditional: true})
	web.Expect(revision)
	if err := web.AddUserMessage(t.Context(), "sent along"); !ok || !turn.Is(err, turn.Conflict) {
		t.Errorf("at an earlier revision: %v", err)
	}
}

// TestMemory: a turn is saved whole; the same turn of a program that is started again is stored once.
func TestMemory(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	h := langchaingo.NewHistory(c, "alice", langchaingo.Config{})
	m := langchaingo.NewMemory(h, memory.WithReturnMessages(true), memory.WithOutputKey("text"))
	question := map[string]any{"input": "hi"}
	if err := m.SaveContext(t.Context(), question, map[string]any{"other": "x"}); !errors.Is(err,
		memory.ErrInvalidInputValues) {
		t.Errorf("without an answer: %v", err)
	}
	if got := messages(t, h); len(got) != 0 {
		t.Errorf("half a turn is stored: %#v", got)
	}
	ctx := langchaingo.WithTurnID(t.Context(), "request-1")
	for range 2 {
		adaptertest.Must(t, m.SaveContext(ctx, question, map[string]any{"text": "hello"}))
	}
	if err := m.SaveContext(ctx, question, map[string]any{"text": "other"}); !turn.Is(err, turn.IDReused) {
		t.Errorf("another turn under the same id: %v", err)
	}
	loaded, err := m.LoadMemoryVariables(t.Context(), nil)
	adaptertest.Must(t, err)
	want := []llms.ChatMessage{llms.HumanChatMessage{Content: "hi"}, llms.AIChatMessage{Content: "hello"}}
	if !reflect.DeepEqual(loaded["history"], want) {
		t.Errorf("loaded %#v", loaded)
	}
}

// TestUnavailable: a history that cannot be read is an error, and none is an empty one.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Config{Addrs: []string{"127.0.0.1:1"}, RetryFor: -1})
	adaptertest.Must(t, err)
	defer c.Close()
	h := langchaingo.NewHistory(c, "alice", langchaingo.Config{})
	if list, err := h.Messages(context.Background()); !turn.Is(err, turn.Unavailable) {
		t.Errorf("read %v, %v", list, err)
	}
}

// TestMessagesAreOfOneMoment: a history that is replaced while it is read, page by page, is read again.
func TestMessagesAreOfOneMoment(t *testing.T) {
	t.Parallel()
	addr := turnlogtest.Start(t).Addr()
	c := adaptertest.Connect(t, addr)
	h := langchaingo.NewHistory(c, "alice", langchaingo.Config{})
	page := strings.Repeat("x", 7<<20)
	for i := range 10 { // more than one page holds
		adaptertest.Must(t, h.AddUserMessage(t.Context(), fmt.Sprint(i, page)))
	}
	reads := 0
	between, err := client.New(client.Config{Addrs: []string{addr}, Traceparent: func(context.Context) string {
		if reads++; reads == 2 { // the second page is about to be read
			adaptertest.Must(t, h.SetMessages(t.Context(), every[:2]))
		}
		return ""
	}})
	adaptertest.Must(t, err)
	defer between.Close()
	got := messages(t, langchaingo.NewHistory(between, "alice", langchaingo.Config{}))
	if !reflect.DeepEqual(got, every[:2]) {
		t.Errorf("%d messages, want the %d that were set", len(got), 2)
	}
}
