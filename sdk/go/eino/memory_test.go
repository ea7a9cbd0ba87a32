package eino_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/turnlog/turnlog/client"
	"github.com/turnlog/turnlog/client/turnlogtest"
	"github.com/turnlog/turnlog/sdk/go/eino"
	"github.com/turnlog/turnlog/sdk/go/internal/adaptertest"
	"github.com/turnlog/turnlog/turn"
)

// read returns the texts of a conversation.
func read(t *testing.T, m *eino.Memory, id string) (texts []string) {
	t.Helper()
	list, err := m.Read(t.Context(), id)
	adaptertest.Must(t, err)
	for _, m := range list {
		texts = append(texts, m.Content)
	}
	return texts
}

func users(texts ...string) (list []*schema.Message) {
	for _, text := range texts {
		list = append(list, schema.UserMessage(text))
	}
	return list
}

// every is messages with all that they can have.
func every() []*schema.Message {
	index, url := 1, "https://example.com/a.png"
	call := schema.ToolCall{Index: &index, ID: "c1", Type: "function",
		Function: schema.FunctionCall{Name: "find", Arguments: `{"order":  4711, "not": `},
		Extra:    map[string]any{"k": "v"}}
	answer := schema.AssistantMessage("", []schema.ToolCall{call})
	answer.ReasoningContent = "I should look."
	answer.ResponseMeta = &schema.ResponseMeta{FinishReason: "tool_calls", Usage: &schema.TokenUsage{TotalTokens: 7},
		LogProbs: &schema.LogProbs{Content: []schema.LogProb{{Token: "a", LogProb: -0.5, Bytes: []int64{97}}}}}
	answer.Extra = map[string]any{"n": 1.5, "list": []any{"a", nil, true}}
	image := schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}
	seen := &schema.Message{Role: schema.User, Name: "Ann", UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "What is this?"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: image}}}}
	drawn := &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: image}}}}
	return []*schema.Message{schema.SystemMessage("Be brief."),
		schema.UserMessage("Where? 🍎 <b>&\u2028 \ufffd \\ufffd\x00"),
		answer, schema.ToolMessage("on its way", "c1", schema.WithToolName("find")), seen, drawn}
}

// TestFidelity: messages come back as they were added, with all that they have.
func TestFidelity(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	m := eino.NewMemory(c, eino.Config{})
	adaptertest.Must(t, m.Append(t.Context(), "alice", every()...))
	adaptertest.Must(t, m.Append(t.Context(), "alice"))
	got, err := m.Read(t.Context(), "alice")
	adaptertest.Must(t, err)
	if want := every(); !reflect.DeepEqual(got, want) {
		for i := range got {
			t.Errorf("message %d: %+v, added was %+v", i+1, got[i], want[i])
		}
	}
}

// TestSaysWhy: what cannot be stored or read is an error, and no message is left out.
func TestSaysWhy(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	m := eino.NewMemory(c, eino.Config{})
	for why, bad := range map[string]*schema.Message{
		"nil":         nil,
		"no role":     {Content: "hi"},
		"not UTF-8":   schema.UserMessage("\xff"),
		"no JSON":     {Role: schema.User, Extra: map[string]any{"f": func() {}}},
		"deep inside": schema.AssistantMessage("", []schema.ToolCall{{ID: `\` + "\xff"}}),
	} {
		err := m.Append(t.Context(), "alice", schema.UserMessage("good"), bad)
		if !turn.Is(err, turn.Invalid) || !strings.Contains(err.Error(), "message 2 of 2") {
			t.Errorf("%s: %v", why, err)
		}
	}
	err := m.Append(eino.WithMessageIDs(t.Context(), "1"), "alice", users("a", "b")...)
	if !turn.Is(err, turn.Invalid) {
		t.Errorf("one id for two messages: %v", err)
	}
	if got := read(t, m, "alice"); len(got) > 0 {
		t.Errorf("stored %q", got)
	}
	for _, foreign := range []string{"no JSON", `{"type":"human","data":{"content":"hi"}}`} {
		_, err := c.Session("bob").Append(t.Context(), turn.NewMessage{Data: []byte(foreign)})
		adaptertest.Must(t, err)
		if list, err := m.Read(t.Context(), "bob"); err == nil || !strings.Contains(err.Error(), "no message of Eino") {
			t.Errorf("read %v, %v", list, err)
		}
		if list, err := m.Query(t.Context(), "bob", "x", 0); err == nil {
			t.Errorf("queried %v", list)
		}
	}
	gone, err := client.New(client.Config{Addrs: []string{"127.0.0.1:1"}, RetryFor: -1})
	adaptertest.Must(t, err)
	defer gone.Close()
	if list, err := eino.NewMemory(gone, eino.Config{}).Read(t.Context(), "alice"); !turn.Is(err, turn.Unavailable) {
		t.Errorf("read %v, %v", list, err)
	}
}

// TestWrite: the whole conversation is replaced, and of one that only grew no message is stored again.
func TestWrite(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	m := eino.NewMemory(c, eino.Config{Prefix: "chat:", TTL: time.Hour})
	for _, step := range []struct {
		texts []string
		last  uint64 // seq: what was stored before is not stored again
	}{
		{nil, 0}, {[]string{"a"}, 1}, {[]string{"a", "b", "c"}, 3}, {[]string{"a", "b", "c"}, 3},
		{[]string{"a", "x"}, 5}, {[]string{"a"}, 6}, {[]string{"summary", "z"}, 8}, {nil, 8},
	} {
		adaptertest.Must(t, m.Write(t.Context(), "alice", users(step.texts...)))
		if got := read(t, m, "alice"); !slices.Equal(got, step.texts) {
			t.Errorf("written was %q, read %q", step.texts, got)
		}
		if h, err := c.Session("chat:alice").Last(t.Context(), 1); err != nil || h.Last != step.last {
			t.Errorf("%q: the last seq is %d, %v; want %d", step.texts, h.Last, err, step.last)
		}
	}
	adaptertest.Must(t, m.Write(t.Context(), "alice", users("a")))
	if info, err := c.Session("chat:alice").Info(t.Context()); err != nil || info.ExpiresAt == 0 {
		t.Errorf("no expiry: %+v, %v", info, err)
	}
	for range 2 {
		adaptertest.Must(t, m.Delete(t.Context(), "alice"))
	}
	if _, err := c.Session("chat:alice").Info(t.Context()); !turn.Is(err, turn.NotFound) {
		t.Errorf("deleted: %v", err)
	}
}

// TestBounds: reads are bounded by messages and by tokens, without a result whose call was left out, and
// what they return cannot be taken for the whole.
func TestBounds(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	adaptertest.Must(t, eino.NewMemory(c, eino.Config{}).Append(t.Context(), "alice", schema.UserMessage("where?"),
		schema.AssistantMessage("look", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "find"}}}),
		schema.ToolMessage("here", "c1"), schema.AssistantMessage("there", nil)))
	last := eino.NewMemory(c, eino.Config{Last: 3})
	if got := read(t, last, "alice"); !slices.Equal(got, []string{"look", "here", "there"}) {
		t.Errorf("the last three: %q", got)
	}
	whole := []string{"where?", "look", "here", "there"}
	cuts := map[int]bool{}
	for tokens := int64(1); tokens <= 80; tokens++ {
		got := read(t, eino.NewMemory(c, eino.Config{MaxTokens: tokens}), "alice")
		cuts[len(got)] = true
		if n := len(whole) - len(got); n < 0 || !slices.Equal(got, whole[n:]) || got[0] == "here" {
			t.Errorf("%d tokens: %q", tokens, got)
		}
	}
	if want := map[int]bool{1: true, 3: true, 4: true}; !reflect.DeepEqual(cuts, want) {
		t.Errorf("budgets leave conversations of %v messages, want %v", cuts, want)
	}
	if err := last.Write(t.Context(), "alice", users("a")); !turn.Is(err, turn.Invalid) {
		t.Errorf("written over what was not read: %v", err)
	}
	if got := read(t, eino.NewMemory(c, eino.Config{}), "alice"); len(got) != 4 {
		t.Errorf("left are %q", got)
	}
	long := strings.Repeat("x", 5<<20) // more than one answer holds of them
	for range 5 {
		adaptertest.Must(t, last.Append(t.Context(), "long", schema.UserMessage(long)))
	}
	if got := read(t, eino.NewMemory(c, eino.Config{}), "long"); len(got) != 5 {
		t.Errorf("%d messages of 5", len(got))
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	m := eino.NewMemory(c, eino.Config{})
	adaptertest.Must(t, m.Append(t.Context(), "alice",
		users("a Restaurant", "a bar", "RESTAURANT two", "restaurant three")...))
	for _, test := range []struct {
		text  string
		limit int
		want  int
	}{{"restaurant", 0, 3}, {"restaurant", 2, 2}, {"ESTA", 9, 3}, {"pub", 0, 0}, {"", 0, 0}} {
		got, err := m.Query(t.Context(), "alice", test.text, test.limit)
		if err != nil || len(got) != test.want || len(got) > 0 && got[0].Content != "a Restaurant" {
			t.Errorf("%q, at most %d: %v, %v", test.text, test.limit, got, err)
		}
	}
}

// TestConditional: of two workers that have read the same, one changes it.
func TestConditional(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	a := eino.NewMemory(c, eino.Config{Conditional: true})
	b := eino.NewMemory(c, eino.Config{Conditional: true})
	for _, m := range []*eino.Memory{a, b} {
		read(t, m, "alice")
	}
	adaptertest.Must(t, a.Append(t.Context(), "alice", users("first")...))
	adaptertest.Must(t, a.Write(t.Context(), "alice", users("first", "second")))
	for what, err := range map[string]error{
		"append":             b.Append(t.Context(), "alice", users("late")...),
		"write":              b.Write(t.Context(), "alice", users("late")),
		"write what is more": b.Write(t.Context(), "alice", users("first", "second", "late")),
		"write the same":     b.Write(t.Context(), "alice", users("first", "second")),
		"delete":             b.Delete(t.Context(), "alice"),
	} {
		if !turn.Is(err, turn.Conflict) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := read(t, b, "alice"); !slices.Equal(got, []string{"first", "second"}) {
		t.Errorf("stored %q", got)
	}
	revision, ok := b.Revision("alice")
	adaptertest.Must(t, b.Append(t.Context(), "alice", users("now")...)) // it has read
	web := eino.NewMemory(c, eino.Config{Conditional: true})
	web.Expect("alice", revision)
	if err := web.Append(t.Context(), "alice", users("sent along")...); !ok || !turn.Is(err, turn.Conflict) {
		t.Errorf("at an earlier revision: %v", err)
	}
}

// TestTurnID: a turn of a program that is started again is stored once, also after others.
func TestTurnID(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	m := eino.NewMemory(c, eino.Config{})
	ctx := eino.WithTurnID(t.Context(), "request-1")
	for range 2 {
		adaptertest.Must(t, m.Append(ctx, "alice", users("hi", "hello")...))
		adaptertest.Must(t, m.Append(eino.WithMessageIDs(ctx, "m1"), "alice", users("more")...))
	}
	if err := m.Append(ctx, "alice", users("hi", "other")...); !turn.Is(err, turn.IDReused) {
		t.Errorf("another turn under the same id: %v", err)
	}
	if got := read(t, m, "alice"); !slices.Equal(got, []string{"hi", "hello", "more"}) {
		t.Errorf("stored %q", got)
	}
}

// TestWritesAtOnce: writes that are not conditional do not fail each other; the last one wins whole.
func TestWritesAtOnce(t *testing.T) {
	t.Parallel()
	c := adaptertest.Connect(t, turnlogtest.Start(t).Addr())
	const writers = 8
	written := make(chan error)
	for w := range writers {
		go func() {
			err := error(nil)
			for i := 0; i < 10 && err == nil; i++ {
				err = eino.NewMemory(c, eino.Config{}).Write(context.WithoutCancel(t.Context()), "alice",
					users(fmt.Sprint(w, "-", i), fmt.Sprint(w, "-", i)))
			}
			written <- err
		}()
	}
	for range writers {
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	if got := read(t, eino.NewMemory(c, eino.Config{}), "alice"); len(got) != 2 || got[0] != got[1] {
		t.Errorf("stored %q", got)
	}
}

// TestReadsAreOfOneMoment: a conversation that is written again while it is read, page by page, is read again.
func TestReadsAreOfOneMoment(t *testing.T) {
	t.Parallel()
	addr := turnlogtest.Start(t).Addr()
	m := eino.NewMemory(adaptertest.Connect(t, addr), eino.Config{})
	page := strings.Repeat("x", 7<<20)
	for i := range 10 { // more than one page holds
		adaptertest.Must(t, m.Append(t.Context(), "alice", users(fmt.Sprint(i, page))...))
	}
	reads := 0
	between, err := client.New(client.Config{Addrs: []string{addr}, Traceparent: func(context.Context) string {
		if reads++; reads == 2 { // the second page is about to be read
			adaptertest.Must(t, m.Write(t.Context(), "alice", users("a", "b")))
		}
		return ""
	}})
	adaptertest.Must(t, err)
	defer between.Close()
	if got := read(t, eino.NewMemory(between, eino.Config{}), "alice"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%d messages, want the 2 that were written", len(got))
	}
}
