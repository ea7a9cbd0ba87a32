package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
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

// turnKey names a turn within a session: the number that writer gave it.
type turnKey struct {
	Writer int `json:"w"`
	Turn   int `json:"t"`
}

func (k turnKey) String() string { return fmt.Sprintf("writer %d turn %d", k.Writer, k.Turn) }

// label is what every numbered message says about itself, so that one that turns
// up can be told from all others.
type label struct {
	token string // of the session
	turnKey
	part, parts int // from 1
}

func (l label) String() string {
	return fmt.Sprintf("%s message %d of %d", l.turnKey, l.part, l.parts)
}

const labelForm = "[%s w%d t%d %d/%d]"

func parseLabel(content string) (label, bool) {
	var l label
	head, _, ok := strings.Cut(content, " | ")
	if !ok {
		return l, false
	}
	head = strings.ReplaceAll(head, "]", " ]")
	n, err := fmt.Sscanf(head, "[%s w%d t%d %d/%d ]", &l.token, &l.Writer, &l.Turn, &l.part, &l.parts)
	return l, err == nil && n == 5
}

// script makes the numbered messages of one session. The same script makes the
// same messages again.
type script struct {
	token string
	seed  uint64
}

// newScript returns the script of a session; run tells this run of the suite from
// all others.
func newScript(seed uint64, run, session string) script {
	h := fnv.New32a()
	h.Write([]byte(run + "/" + session))
	return script{token: fmt.Sprintf("%07x", h.Sum32()&0xfffffff), seed: seed}
}

// turn returns the messages of a turn: user, assistant, user, …
func (s script) turn(k turnKey, parts int) []Message {
	ms := make([]Message, parts)
	for i := range ms {
		ms[i] = s.message(label{token: s.token, turnKey: k, part: i + 1, parts: parts})
	}
	return ms
}

func (s script) message(l label) Message {
	random := rand.New(rand.NewPCG(s.seed, uint64(l.Writer)<<40|uint64(l.Turn)<<8|uint64(l.part)))
	words := make([]string, 3+random.IntN(12))
	for i := range words {
		words[i] = vocabulary[random.IntN(len(vocabulary))]
	}
	role := "user"
	if l.part%2 == 0 {
		role = "assistant"
	}
	return Message{
		ID:      fmt.Sprintf("%s-%d-%d-%d", l.token, l.Writer, l.Turn, l.part),
		Role:    role,
		Content: fmt.Sprintf(labelForm, l.token, l.Writer, l.Turn, l.part, l.parts) + " | " + strings.Join(words, " "),
	}
}

// genuine reports whether m is unchanged, given the label that it bears.
func (s script) genuine(l label, m Message) bool { return s.message(l).Equal(m) }

var vocabulary = strings.Fields(`order number four seven package arrived late again please where is my invoice thank you
	the red one not blue Größe é 東京 שלום 👩‍🚀 shipping address changed refund pending loan rate percent tomorrow`)
