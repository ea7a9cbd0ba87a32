package turn

import (
	"bytes"
	"encoding/json"
	"strings"
)

// toolIDs returns the ids of the tool calls that a payload makes and of those
// whose results it holds, in the forms of the OpenAI chat and Responses
// interfaces, Anthropic's content blocks and LangChain's serialised messages. A
// payload in any other form has none.
func toolIDs(data []byte) (calls, results idSet) {
	if !mentionsTool(data) {
		return nil, nil
	}
	calls, results = idSet{}, idSet{}
	var it toolItem
	// A member of an unexpected type is skipped and reported; the others are set
	// all the same, which is what is wanted of a payload that is anybody's.
	_ = json.Unmarshal(data, &it)
	it.collect(calls, results)
	if it.Data != nil {
		it.Data.collect(calls, results)
	}
	return calls, results
}

var toolMarks = [][]byte{[]byte("tool_call"), []byte("tool_use"), []byte("call_id")}

// mentionsTool spares the ordinary message from being parsed.
func mentionsTool(data []byte) bool {
	for _, mark := range toolMarks {
		if bytes.Contains(data, mark) {
			return true
		}
	}
	return false
}

// toolItem is what the recognised forms have, each some of it.
type toolItem struct {
	toolBlock
	ToolCallID string     `json:"tool_call_id"` // chat: the result of that call
	ToolCalls  []toolCall `json:"tool_calls"`   // chat
	Kwargs     struct {
		ToolCalls []toolCall `json:"tool_calls"`
	} `json:"additional_kwargs"` // LangChain, from providers of the chat form
	Content []toolBlock `json:"content"` // Anthropic
	Data    *toolItem   `json:"data"`    // LangChain: the message proper
}

type toolCall struct {
	ID string `json:"id"`
}

// toolBlock is a content block of Anthropic's or an item of the Responses
// interface.
type toolBlock struct {
	Type      string `json:"type"`
	ID        string `json:"id"`
	ToolUseID string `json:"tool_use_id"`
	CallID    string `json:"call_id"`
}

func (it *toolItem) collect(calls, results idSet) {
	it.toolBlock.collect(calls, results)
	results.add(it.ToolCallID)
	for _, c := range it.ToolCalls {
		calls.add(c.ID)
	}
	for _, c := range it.Kwargs.ToolCalls {
		calls.add(c.ID)
	}
	for i := range it.Content {
		it.Content[i].collect(calls, results)
	}
}

// collect goes by the ends of type names: there are tool_use and
// server_tool_use, function_call and custom_tool_call, each with a result.
func (b *toolBlock) collect(calls, results idSet) {
	switch {
	case strings.HasSuffix(b.Type, "tool_use"):
		calls.add(b.ID)
	case strings.HasSuffix(b.Type, "_call"):
		calls.add(b.CallID)
	case strings.HasSuffix(b.Type, "_call_output"):
		results.add(b.CallID)
	}
	results.add(b.ToolUseID)
}

type idSet map[string]struct{}

func (s idSet) add(id string) {
	if id != "" {
		s[id] = struct{}{}
	}
}
