package langchaingo

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"github.com/turnlog/turnlog/turn"
)

// storedMessage is the JSON form of a message that LangChain's histories have in common.
type storedMessage struct {
	Type string     `json:"type"`
	Data storedData `json:"data"`
}

type storedData struct {
	Type       string          `json:"type"`
	Content    json.RawMessage `json:"content"`
	Role       string          `json:"role,omitempty"` // of type chat
	Name       string          `json:"name,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	// ToolCalls are what LangChain makes of those in Extra. Other programs may have only these.
	ToolCalls []parsedCall `json:"tool_calls,omitempty"`
	Extra     extra        `json:"additional_kwargs"`
}

type parsedCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// extra has what a model said beside the text, as it said it: arguments of tools byte for byte.
type extra struct {
	ToolCalls        []calledTool       `json:"tool_calls,omitempty"`
	FunctionCall     *llms.FunctionCall `json:"function_call,omitempty"`
	ReasoningContent string             `json:"reasoning_content,omitempty"`
}

// calledTool is an llms.ToolCall, whose own JSON form is another than LangChain's.
type calledTool struct {
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function *llms.FunctionCall `json:"function,omitempty"`
}

// typeChat is LangChain's name for a message of any role, which LangChainGo calls generic.
const typeChat = "chat"

func encodeAll(messages []llms.ChatMessage) ([]turn.NewMessage, error) {
	encoded := make([]turn.NewMessage, len(messages))
	for i, m := range messages {
		data, err := encode(m)
		if err != nil {
			return nil, fmt.Errorf("message %d of %d: %w", i+1, len(messages), err)
		}
		encoded[i].Data = data
	}
	return encoded, nil
}

// encode returns a message as it is stored.
func encode(message llms.ChatMessage) ([]byte, error) {
	message = value(message)
	if message == nil {
		return nil, turn.Errorf(turn.Invalid, "it is nil")
	}
	content, err := json.Marshal(message.GetContent())
	if err != nil {
		return nil, err
	}
	s := storedMessage{Type: string(message.GetType())}
	s.Data.Content = content
	switch m := message.(type) {
	case llms.AIChatMessage:
		s.Data.Extra = extra{FunctionCall: m.FunctionCall, ReasoningContent: m.ReasoningContent}
		for _, c := range m.ToolCalls {
			s.Data.Extra.ToolCalls = append(s.Data.Extra.ToolCalls, calledTool{c.ID, c.Type, c.FunctionCall})
		}
	case llms.GenericChatMessage:
		s.Type, s.Data.Role, s.Data.Name = typeChat, m.Role, m.Name
	case llms.FunctionChatMessage:
		s.Data.Name = m.Name
	case llms.ToolChatMessage:
		s.Data.ToolCallID = m.ID
	}
	s.Data.Type = s.Type
	if !s.Data.isText(message.GetContent()) {
		return nil, turn.Errorf(turn.Invalid, "it has a text that is not UTF-8, which JSON would change")
	}
	return json.Marshal(s)
}

// isText reports whether all texts of a message are UTF-8.
func (d *storedData) isText(content string) bool {
	texts := []string{content, d.Role, d.Name, d.ToolCallID, d.Extra.ReasoningContent}
	if f := d.Extra.FunctionCall; f != nil {
		texts = append(texts, f.Name, f.Arguments)
	}
	for _, c := range d.Extra.ToolCalls {
		texts = append(texts, c.ID, c.Type)
		if c.Function != nil {
			texts = append(texts, c.Function.Name, c.Function.Arguments)
		}
	}
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}

// value returns what m points to, if it is a pointer: LangChainGo's messages are values, and pointers to
// them are messages, too.
func value(m llms.ChatMessage) llms.ChatMessage {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Pointer {
		return m
	}
	if v.IsNil() {
		return nil
	}
	if pointed, ok := v.Elem().Interface().(llms.ChatMessage); ok {
		return pointed
	}
	return m
}

// decode returns the message that was stored as data.
func decode(data []byte) (llms.ChatMessage, error) {
	var s storedMessage
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("it is no message of LangChain: %w", err)
	}
	content, err := text(s.Data.Content)
	if err != nil {
		return nil, err
	}
	switch s.Type {
	case string(llms.ChatMessageTypeHuman):
		return llms.HumanChatMessage{Content: content}, nil
	case string(llms.ChatMessageTypeAI):
		return llms.AIChatMessage{Content: content, ToolCalls: s.Data.toolCalls(),
			FunctionCall: s.Data.Extra.FunctionCall, ReasoningContent: s.Data.Extra.ReasoningContent}, nil
	case string(llms.ChatMessageTypeSystem):
		return llms.SystemChatMessage{Content: content}, nil
	case string(llms.ChatMessageTypeFunction):
		return llms.FunctionChatMessage{Name: s.Data.Name, Content: content}, nil
	case string(llms.ChatMessageTypeTool):
		return llms.ToolChatMessage{ID: s.Data.ToolCallID, Content: content}, nil
	case typeChat, string(llms.ChatMessageTypeGeneric):
		return llms.GenericChatMessage{Content: content, Role: s.Data.Role, Name: s.Data.Name}, nil
	}
	return nil, fmt.Errorf("%w: %q", llms.ErrUnexpectedChatMessageType, s.Type)
}

// toolCalls returns the calls as the model made them, or from what another program made of them.
func (d *storedData) toolCalls() (calls []llms.ToolCall) {
	for _, c := range d.Extra.ToolCalls {
		calls = append(calls, llms.ToolCall{ID: c.ID, Type: c.Type, FunctionCall: c.Function})
	}
	if len(calls) > 0 {
		return calls
	}
	for _, c := range d.ToolCalls {
		calls = append(calls, llms.ToolCall{ID: c.ID, Type: "function",
			FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: string(c.Args)}})
	}
	return calls
}

// text returns the content of a message: a string, or a list of parts that are texts. Other parts, as
// images, have no place in a message of LangChainGo.
func text(content json.RawMessage) (string, error) {
	if len(content) == 0 {
		return "", errors.New("it is no message of LangChain: it has no content")
	}
	var whole string
	if json.Unmarshal(content, &whole) == nil {
		return whole, nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", fmt.Errorf("its content is neither a text nor a list: %w", err)
	}
	var texts strings.Builder
	for _, p := range parts {
		if json.Unmarshal(p, &whole) == nil {
			texts.WriteString(whole)
			continue
		}
		var part struct{ Type, Text string }
		if err := json.Unmarshal(p, &part); err != nil {
			return "", err
		}
		if part.Type != "text" {
			return "", fmt.Errorf("it has a part of type %q, and messages of LangChainGo are texts", part.Type)
		}
		texts.WriteString(part.Text)
	}
	return texts.String(), nil
}
