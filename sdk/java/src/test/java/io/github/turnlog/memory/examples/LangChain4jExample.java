package io.github.turnlog.memory.examples;

import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.ChatMemory;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import io.github.turnlog.memory.MemoryConfig;
import io.github.turnlog.memory.TurnlogChatMemoryStore;
import io.github.turnlog.memory.TurnlogClient;

final class LangChain4jExample {
    private LangChain4jExample() {}

    static void ask() {
        TurnlogClient client = TurnlogClient.of(
                "http://127.0.0.1:7380", "http://127.0.0.1:7390", "http://127.0.0.1:7400").build();
        ChatMemory memory = MessageWindowChatMemory.builder().id("alice").maxMessages(40)
                .chatMemoryStore(new TurnlogChatMemoryStore(MemoryConfig.of(client))).build();
        memory.add(UserMessage.from("Where is my order?"));
    }
}
