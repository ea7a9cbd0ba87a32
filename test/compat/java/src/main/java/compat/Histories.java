package compat;

import dev.langchain4j.community.store.memory.chat.redis.RedisChatMemoryStore;
import dev.langchain4j.community.store.memory.chat.redis.StoreType;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ChatMessageDeserializer;
import dev.langchain4j.data.message.ChatMessageSerializer;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import dev.langchain4j.store.memory.chat.ChatMemoryStore;
import io.github.turnlog.memory.MemoryConfig;
import io.github.turnlog.memory.TurnlogChatMemoryRepository;
import io.github.turnlog.memory.TurnlogChatMemoryStore;
import io.github.turnlog.memory.TurnlogClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.springframework.ai.chat.memory.ChatMemoryRepository;
import redis.clients.jedis.UnifiedJedis;

/** The histories that can be driven, by name. */
final class Histories {
    private Histories() {}

    /** How to reach a server, and whether the client may resend by itself. */
    record Target(URI url, boolean retry) {}

    interface Maker {
        History make(Target target) throws Exception;
    }

    static final Map<String, Maker> BY_NAME = Map.of(
            "turnlog-memory LangChain4j", t -> memory(new TurnlogChatMemoryStore(turnlog(t.url, "langchain4j:"))),
            "turnlog-memory Spring AI", t -> memory(new TurnlogChatMemoryRepository(turnlog(t.url, "spring:"))),
            "langchain4j", t -> memory(RedisChatMemoryStore.builder()
                    .host(t.url.getHost()).port(t.url.getPort())
                    .prefix("langchain4j:").ttl(3600L).storeType(StoreType.STRING).build()),
            "langchain4j on Lettuce", t -> memory(new LettuceStore(lettuce(t))),
            "Jedis list", t -> jedis(redis.clients.jedis.RedisClient.create(t.url)),
            "Lettuce list", t -> list(lettuce(t)));

    static final Map<String, List<String>> PACKAGES = Map.of(
            "turnlog-memory LangChain4j", List.of("langchain4j"),
            "turnlog-memory Spring AI", List.of("spring-ai-model"),
            "langchain4j", List.of("langchain4j-community-redis", "jedis"),
            "langchain4j on Lettuce", List.of("langchain4j", "lettuce-core"),
            "Jedis list", List.of("jedis"),
            "Lettuce list", List.of("lettuce-core"));

    /** A connection that Lettuce opens again, and on which it sends again what had no answer yet; or,
     * without retry, one that the application opens again. */
    private static Supplier<RedisCommands<String, String>> lettuce(Target t) {
        RedisClient client = RedisClient.create(t.url.toString());
        client.setOptions(ClientOptions.builder().autoReconnect(t.retry).build());
        AtomicReference<StatefulRedisConnection<String, String>> connection = new AtomicReference<>(client.connect());
        return () -> connection.updateAndGet(c -> t.retry || c.isOpen() ? c : client.connect()).sync();
    }

    /** What turnlog's own memories are like: a save is rejected if others have changed the conversation. */
    private static MemoryConfig turnlog(URI url, String prefix) {
        TurnlogClient client = TurnlogClient.of("http://" + url.getAuthority())
                .namespace(url.getPath().substring(1)).build();
        return MemoryConfig.of(client).prefix(prefix).ttl(Duration.ofHours(1)).conditional();
    }

    /** LangChain4j's chat memory over a store, large enough to forget nothing. */
    private static History memory(ChatMemoryStore store) {
        return new History() {
            @Override
            public void add(String conversation, String text) {
                MessageWindowChatMemory.builder().id(conversation).maxMessages(100_000).chatMemoryStore(store).build()
                        .add(UserMessage.from(text));
            }

            @Override
            public List<String> texts(String conversation) {
                return store.getMessages(conversation).stream().map(m -> ((UserMessage) m).singleText()).toList();
            }
        };
    }

    /** Spring AI's chat memory over a repository, large enough to forget nothing. */
    private static History memory(ChatMemoryRepository repository) {
        return new History() {
            @Override
            public void add(String conversation, String text) {
                org.springframework.ai.chat.memory.MessageWindowChatMemory.builder().maxMessages(100_000)
                        .chatMemoryRepository(repository).build()
                        .add(conversation, new org.springframework.ai.chat.messages.UserMessage(text));
            }

            @Override
            public List<String> texts(String conversation) {
                return repository.findByConversationId(conversation).stream()
                        .map(org.springframework.ai.chat.messages.Message::getText).toList();
            }
        };
    }

    /** A LangChain4j store with the layout of RedisChatMemoryStore, on Lettuce. */
    private record LettuceStore(Supplier<RedisCommands<String, String>> redis) implements ChatMemoryStore {
        @Override
        public List<ChatMessage> getMessages(Object id) {
            String json = redis.get().get("lettuce:" + id);
            return json == null ? List.of() : ChatMessageDeserializer.messagesFromJson(json);
        }

        @Override
        public void updateMessages(Object id, List<ChatMessage> messages) {
            redis.get().setex("lettuce:" + id, 3600, ChatMessageSerializer.messagesToJson(messages));
        }

        @Override
        public void deleteMessages(Object id) {
            redis.get().del("lettuce:" + id);
        }
    }

    private static History jedis(UnifiedJedis redis) {
        return new History() {
            @Override
            public void add(String conversation, String text) {
                redis.rpush(conversation, text);
            }

            @Override
            public List<String> texts(String conversation) {
                return redis.lrange(conversation, 0, -1);
            }
        };
    }

    private static History list(Supplier<RedisCommands<String, String>> redis) {
        return new History() {
            @Override
            public void add(String conversation, String text) {
                redis.get().rpush(conversation, text);
            }

            @Override
            public List<String> texts(String conversation) {
                return redis.get().lrange(conversation, 0, -1);
            }
        };
    }

    /** The versions of packages, from the names of their jars on the class path. */
    static Map<String, String> versions(List<String> packages) {
        Map<String, String> versions = new ConcurrentHashMap<>();
        for (String jar : System.getProperty("java.class.path").split(":")) {
            String name = jar.substring(jar.lastIndexOf('/') + 1).replaceAll("\\.jar$", "");
            for (String p : packages) {
                if (name.matches(java.util.regex.Pattern.quote(p) + "-\\d.*")) {
                    versions.put(p, name.substring(p.length() + 1));
                }
            }
        }
        return versions;
    }
}
