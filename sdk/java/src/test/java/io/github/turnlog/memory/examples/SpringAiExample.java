package io.github.turnlog.memory.examples;

import io.github.turnlog.memory.MemoryConfig;
import io.github.turnlog.memory.TurnlogChatMemoryRepository;
import io.github.turnlog.memory.TurnlogClient;
import org.springframework.ai.chat.memory.ChatMemory;
import org.springframework.ai.chat.memory.MessageWindowChatMemory;
import org.springframework.ai.chat.messages.UserMessage;

final class SpringAiExample {
    private SpringAiExample() {}

    static void ask() {
        TurnlogClient client = TurnlogClient.of(
                "http://127.0.0.1:7380", "http://127.0.0.1:7390", "http://127.0.0.1:7400").build();
        ChatMemory memory = MessageWindowChatMemory.builder().maxMessages(40)
                .chatMemoryRepository(new TurnlogChatMemoryRepository(MemoryConfig.of(client))).build();
        memory.add("alice", new UserMessage("Where is my order?"));
    }
}
