package io.github.turnlog.memory;

import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import java.util.List;

/**
 * LangChain4j's store of chat memories. An id is any object, and the key in turnlog its text. Messages are in
 * LangChain4j's JSON form. Its methods may be called by any thread.
 */
public final class TurnlogChatMemoryStore implements ChatMemoryStore {
    private final Conversations<ChatMessage> conversations;

    public TurnlogChatMemoryStore(MemoryConfig config) {
        conversations = new Conversations<>(config, new Conversations.Codec<>() {
            @Override
            public String encode(ChatMessage message) {
                return ChatMessageSerializer.messageToJson(message);
            }

            @Override
            public ChatMessage decode(String json) {
                return ChatMessageDeserializer.messageFromJson(json);
            }
        });
    }

    @Override
    public List<ChatMessage> getMessages(Object memoryId) {
        return conversations.read(memoryId.toString());
    }

    /** Makes the messages the memory; only what is new since this thread read it is sent. */
    @Override
    public void updateMessages(Object memoryId, List<ChatMessage> messages) {
        conversations.update(memoryId.toString(), messages);
    }

    @Override
    public void deleteMessages(Object memoryId) {
        conversations.delete(memoryId.toString());
    }
}
