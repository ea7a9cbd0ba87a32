package langchaingo

import (
	"context"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"
)

// Memory is LangChainGo's ConversationBuffer with a SaveContext that saves question and answer as one
// turn. Its methods may be called by any goroutine, as those of its History.
type Memory struct {
	*memory.ConversationBuffer

	history *History
}

var _ schema.Memory = (*Memory)(nil)

// NewMemory returns the memory of a conversation. The options are those of
// memory.NewConversationBuffer; a history among them is ignored.
func NewMemory(h *History, options ...memory.ConversationBufferOption) *Memory {
	buffer := memory.NewConversationBuffer(options...)
	buffer.ChatHistory = h
	return &Memory{ConversationBuffer: buffer, history: h}
}

// SaveContext implements schema.Memory: the turn is stored whole and once, or not at all.
func (m *Memory) SaveContext(ctx context.Context, inputs, outputs map[string]any) error {
	question, err := memory.GetInputValue(inputs, m.InputKey)
	if err != nil {
		return err
	}
	answer, err := memory.GetInputValue(outputs, m.OutputKey)
	if err != nil {
		return err
	}
	return m.history.AddMessages(ctx, llms.HumanChatMessage{Content: question},
		llms.AIChatMessage{Content: answer})
}
