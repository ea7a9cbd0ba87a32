package io.github.turnlog.memory;

import java.util.List;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import org.springframework.ai.chat.messages.Message;

/**
 * Spring AI's repository of chat memories. Its methods may be called by any thread.
 */
public final class TurnlogChatMemoryRepository implements ChatMemoryRepository {
    private final Conversations<Message> conversations;

    public TurnlogChatMemoryRepository(MemoryConfig config) {
        conversations = new Conversations<>(config, new SpringMessages());
    }

    @Override
    public List<String> findConversationIds() {
        return conversations.ids();
    }

    @Override
    public List<Message> findByConversationId(String conversationId) {
        return conversations.read(conversationId);
    }

    /** Makes the messages the memory; only what is new since this thread read it is sent. */
    @Override
    public void saveAll(String conversationId, List<Message> messages) {
        conversations.update(conversationId, messages);
    }

    @Override
    public void deleteByConversationId(String conversationId) {
        conversations.delete(conversationId);
    }
}
