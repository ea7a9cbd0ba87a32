package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.langchain4j.agent.tool.ToolExecutionRequest;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.memory.chat.MessageWindowChatMemory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.ai.chat.memory.ChatMemory;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.content.Media;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.util.MimeTypeUtils;

/** The memories of both frameworks, on a cluster whose nodes are killed. */
class MemoryTest {
    private static final String ODD = "Łódź 🍎 <b>\u0000\u2028 \\ufffd \"";
    private static Cluster cluster;
    private static TurnlogClient client;

    @BeforeAll
    static void start() throws Exception {
        cluster = new Cluster();
        client = cluster.client();
    }

    @AfterAll
    static void stop() throws Exception {
        cluster.close();
    }

    private static TurnlogChatMemoryStore store(String prefix) {
        return new TurnlogChatMemoryStore(MemoryConfig.of(client).prefix(prefix));
    }

    private static TurnlogChatMemoryRepository repository(String prefix) {
        return new TurnlogChatMemoryRepository(MemoryConfig.of(client).prefix(prefix));
    }

    private static JsonNode info(String key) {
        return client.send("GET", "/v1/sessions/" + key, null);
    }

    private static ChatMessage user(String text) {
        return dev.langchain4j.data.message.UserMessage.from(text);
    }

    private static List<String> texts(List<ChatMessage> messages) {
        return messages.stream()
                .map(m -> m instanceof dev.langchain4j.data.message.UserMessage u ? u.singleText() : "?").toList();
    }

    @Test
    void langChain4jMessagesComeBack() {
        List<ChatMessage> every = List.of(dev.langchain4j.data.message.SystemMessage.from("Be brief."), user(ODD),
                dev.langchain4j.data.message.UserMessage.from("Ann", List.of(TextContent.from("What is this?"),
                        ImageContent.from("https://example.com/a.png"))),
                AiMessage.builder().toolExecutionRequests(List.of(ToolExecutionRequest.builder().id("c1").name("find")
                        .arguments("{\"order\":  4711, \"not\": ").build())).build(),
                ToolExecutionResultMessage.from("c1", "find", "on its way"), AiMessage.from("It left."));
        TurnlogChatMemoryStore store = store("fidelity:");
        assertEquals(List.of(), store.getMessages(7));
        store.updateMessages(7, every);
        assertEquals(every, store("fidelity:").getMessages(7));
        store.deleteMessages(7);
        store.deleteMessages(7);
        assertEquals(List.of(), store("fidelity:").getMessages("7"));
    }

    @Test
    void springMessagesComeBack() {
        Media image = Media.builder().mimeType(MimeTypeUtils.IMAGE_PNG).id("i1").name("a")
                .data(new ByteArrayResource(new byte[] {0, -1, 10})).build();
        List<Message> every = List.of(new SystemMessage("Be brief."), new UserMessage(ODD),
                UserMessage.builder().text("What is this?").media(image)
                        .metadata(Map.of("n", 1.5, "list", List.of("a"))).build(),
                AssistantMessage.builder().content("").properties(Map.of("finishReason", "TOOL_CALLS"))
                        .toolCalls(List.of(new AssistantMessage.ToolCall("c1", "function", "find", "{\"order\":  47")))
                        .build(),
                ToolResponseMessage.builder()
                        .responses(List.of(new ToolResponseMessage.ToolResponse("c1", "find", "on its way"))).build(),
                new AssistantMessage("It left."));
        TurnlogChatMemoryRepository repository = repository("spring-fidelity:");
        assertEquals(List.of(), repository.findByConversationId("a/ü?"));
        repository.saveAll("a/ü?", every);
        List<Message> got = repository("spring-fidelity:").findByConversationId("a/ü?");
        SpringMessages codec = new SpringMessages();
        assertEquals(every.stream().map(codec::encode).toList(), got.stream().map(codec::encode).toList());
        assertEquals(every.get(0), got.get(0));
        assertEquals(every.get(3), got.get(3));
        assertEquals(every.get(4), got.get(4));
        assertEquals(List.of("a/ü?"), repository.findConversationIds());
        repository.deleteByConversationId("a/ü?");
        assertEquals(List.of(), repository.findConversationIds());
    }

    /** What grows, or loses its oldest messages, is not stored again. */
    @Test
    void onlyWhatIsNewIsStored() {
        TurnlogChatMemoryStore store = new TurnlogChatMemoryStore(
                MemoryConfig.of(client).prefix("new:").ttl(Duration.ofHours(1)));
        for (Object[] step : new Object[][] {{"a b", 2}, {"a b c", 3}, {"b c d", 4}, {"b c d", 4}, {"b d e", 7},
            {"x", 8}, {"", 8}}) {
            List<String> want = List.of(((String) step[0]).split(" ")).stream().filter(s -> !s.isEmpty()).toList();
            store.getMessages("a");
            store.updateMessages("a", want.stream().map(MemoryTest::user).toList());
            assertEquals(want, texts(store.getMessages("a")));
            assertEquals(step[1], info("new:a").path("last_seq").asInt());
        }
        store.updateMessages("a", List.of(user("y")));
        assertTrue(info("new:a").path("expires_at").asLong() > 0);
    }

    /** The windows of both frameworks, the system message staying where it is. */
    @Test
    void windows() {
        MessageWindowChatMemory memory = MessageWindowChatMemory.builder().id("a").maxMessages(3)
                .chatMemoryStore(store("window:")).build();
        memory.add(dev.langchain4j.data.message.SystemMessage.from("Be brief."));
        ChatMemory spring = org.springframework.ai.chat.memory.MessageWindowChatMemory.builder().maxMessages(3)
                .chatMemoryRepository(repository("spring-window:")).build();
        spring.add("a", new SystemMessage("Be brief."));
        for (int i = 0; i < 6; i++) {
            memory.add(user("m" + i));
            spring.add("a", new UserMessage("m" + i));
        }
        assertEquals(List.of("?", "m4", "m5"), texts(store("window:").getMessages("a")));
        assertEquals(List.of("Be brief.", "m4", "m5"),
                repository("spring-window:").findByConversationId("a").stream().map(Message::getText).toList());
    }

    /** Threads that have all read the same keep each other's turns, unless the memory is conditional. */
    @Test
    void atOnce() throws Exception {
        for (boolean conditional : List.of(false, true)) {
            MemoryConfig config = MemoryConfig.of(client).prefix("once-" + conditional + ":");
            TurnlogChatMemoryStore store = new TurnlogChatMemoryStore(conditional ? config.conditional() : config);
            store.updateMessages("a", List.of(user("q")));
            CyclicBarrier haveRead = new CyclicBarrier(8);
            List<String> added = inParallel(8, w -> {
                List<ChatMessage> messages = new ArrayList<>(store.getMessages("a"));
                haveRead.await();
                messages.add(user("turn " + w));
                try {
                    store.updateMessages("a", messages);
                    return "turn " + w;
                } catch (TurnlogException e) {
                    assertTrue(conditional && e.isConflict() && !e.maybeApplied(), e.toString());
                    assertThrows(TurnlogException.class, () -> store.updateMessages("a", messages), "not read again");
                    return null;
                }
            });
            added.removeIf(s -> s == null);
            assertEquals(conditional ? 1 : 8, added.size());
            List<String> got = new ArrayList<>(texts(store.getMessages("a")));
            assertEquals("q", got.remove(0));
            assertEquals(added.stream().sorted().toList(), got.stream().sorted().toList());
        }
    }

    private interface Work<T> {
        T of(int worker) throws Exception;
    }

    private static <T> List<T> inParallel(int workers, Work<T> work) throws Exception {
        List<T> results = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        List<Thread> threads = IntStream.range(0, workers).mapToObj(w -> new Thread(() -> {
            try {
                T result = work.of(w);
                synchronized (results) {
                    results.add(result);
                }
            } catch (Throwable e) {
                synchronized (failures) {
                    failures.add(e);
                }
            }
        })).toList();
        threads.forEach(Thread::start);
        for (Thread t : threads) {
            t.join();
        }
        assertEquals(List.of(), failures);
        return results;
    }

    /** While leaders, and then all nodes, are killed, every turn of every worker is kept, once, in its order. */
    @Test
    void failover() throws Exception {
        Thread killer = new Thread(() -> {
            try {
                cluster.killLeader();
                cluster.killLeader();
                cluster.killAll();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        killer.start();
        List<Integer> turns = inParallel(4, w -> {
            TurnlogChatMemoryStore store = new TurnlogChatMemoryStore(
                    MemoryConfig.of(cluster.client()).prefix("kill:"));
            int turn = 0;
            for (boolean last = false; !last; turn++) {
                last = turn >= 20 && !killer.isAlive();
                for (String key : List.of("shared", "own " + w)) {
                    List<ChatMessage> messages = new ArrayList<>(store.getMessages(key));
                    messages.add(user(w + " asks " + turn));
                    messages.add(user(w + " hears " + turn));
                    store.updateMessages(key, messages);
                }
            }
            List<String> own = new ArrayList<>();
            for (int i = 0; i < turn; i++) {
                own.addAll(List.of(w + " asks " + i, w + " hears " + i));
            }
            assertEquals(own, texts(store.getMessages("own " + w)));
            List<String> shared = texts(store.getMessages("shared"));
            assertEquals(own, shared.stream().filter(s -> s.startsWith(w + " ")).toList());
            return turn;
        });
        assertEquals(2 * turns.stream().mapToInt(i -> i).sum(), store("kill:").getMessages("shared").size());
        System.out.println("failover: " + turns + " turns of the workers, each kept once");
    }

    /** What cannot be stored or read is an error, and never an empty conversation. */
    @Test
    void saysWhy() throws Exception {
        TurnlogChatMemoryStore store = store("why:");
        assertThrows(IllegalArgumentException.class, () -> store.updateMessages("a", List.of(user("half \ud83c"))));
        assertThrows(IllegalArgumentException.class, () -> store.getMessages("half \ud83c"));
        TurnlogException large = assertThrows(TurnlogException.class,
                () -> store.updateMessages("a", List.of(user("x".repeat(9 << 20)))));
        assertEquals("TOO_LARGE", large.code());
        assertFalse(large.maybeApplied());
        assertEquals(List.of(), store.getMessages("a"));
        client.send("POST", "/v1/sessions/why:b/messages", "{\"messages\":[{\"data\":\"of another program\"}]}");
        assertThrows(IllegalStateException.class, () -> store.getMessages("b"));
        assertThrows(IllegalStateException.class, () -> repository("why:").findByConversationId("b"));
        TurnlogClient gone = TurnlogClient.of("http://127.0.0.1:1").retryFor(Duration.ofMillis(50)).build();
        TurnlogException unavailable = assertThrows(TurnlogException.class,
                () -> new TurnlogChatMemoryStore(MemoryConfig.of(gone)).getMessages("a"));
        assertEquals("UNAVAILABLE", unavailable.code());
        assertFalse(unavailable.maybeApplied());
    }

    /** A conversation of more than one page is read whole. */
    @Test
    void longConversation() {
        TurnlogChatMemoryStore store = store("long:");
        List<ChatMessage> all = new ArrayList<>();
        for (int i = 0; i < 1_500; i++) {
            all.add(user("m" + i));
            if (i % 500 == 499) {
                store.getMessages("a");
                store.updateMessages("a", all);
            }
        }
        assertEquals(texts(all), texts(store("long:").getMessages("a")));
    }
}
