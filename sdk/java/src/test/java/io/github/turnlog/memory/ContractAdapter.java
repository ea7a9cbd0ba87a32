package io.github.turnlog.memory;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.UserMessage;

/**
 * Holds Spring AI's repository to the contract suite of memories: turnlog verify 'exec:java … HOST:PORT'. A turn is
 * added as Spring AI's chat memory does, by a read and a save of the whole list.
 */
final class ContractAdapter {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(Duration.ofSeconds(2)).build();
    private final String[] nodes;

    private ContractAdapter(String... nodes) {
        this.nodes = nodes;
    }

    public static void main(String[] nodes) throws IOException {
        ContractAdapter adapter = new ContractAdapter(nodes);
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            threads.execute(() -> adapter.answer(request));
        }
        threads.shutdownNow();
    }

    private void answer(JsonNode request) {
        ObjectNode answer = JSON.createObjectNode().put("n", request.path("n").asLong());
        try {
            carryOut(request, answer);
        } catch (IllegalArgumentException e) {
            error(answer, "refused", e);
        } catch (TurnlogException e) {
            boolean refused = e.code().equals("TOO_LARGE") || e.code().equals("INVALID");
            String failed = e.maybeApplied() ? "failed" : "not_applied";
            error(answer, refused ? "refused" : e.isConflict() ? "conflict" : failed, e);
        } catch (RuntimeException e) {
            error(answer, "failed", e);
        }
        byte[] line = (answer + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (System.out) {
            System.out.write(line, 0, line.length);
            System.out.flush();
        }
    }

    private static void error(ObjectNode answer, String kind, Exception e) {
        answer.putObject("error").put("kind", kind).put("message", e.toString());
    }

    private void carryOut(JsonNode request, ObjectNode answer) {
        if (request.path("op").asText().equals("hello")) {
            answer.put("name", "spring-ai").put("shared", true).put("concurrent", true).putArray("can").add("expiry")
                    .add("list").add("corrupt").add("linearizable");
            return;
        }
        if (request.has("session_base64")) {
            throw new IllegalArgumentException("the key is not UTF-8");
        }
        TurnlogClient client = TurnlogClient.of(nodes).http(http)
                .retryFor(Duration.ofMillis(request.path("timeout_ms").asLong(10_000))).build();
        MemoryConfig config = MemoryConfig.of(client);
        if (request.has("ttl_ms")) {
            config.ttl(Duration.ofMillis(request.path("ttl_ms").asLong()));
        }
        TurnlogChatMemoryRepository memory = new TurnlogChatMemoryRepository(config);
        String session = request.path("session").asText();
        switch (request.path("op").asText()) {
            case "add" -> {
                List<Message> messages = new ArrayList<>(memory.findByConversationId(session));
                request.path("turn").forEach(m -> messages.add(message(m)));
                memory.saveAll(session, messages);
            }
            case "load" -> {
                ArrayNode list = answer.putArray("messages");
                memory.findByConversationId(session).forEach(m -> list.add(json(m)));
            }
            case "clear" -> memory.deleteByConversationId(session);
            case "list" -> {
                ArrayNode list = answer.putArray("sessions");
                new TurnlogChatMemoryRepository(config.prefix(request.path("prefix").asText())).findConversationIds()
                        .forEach(id -> list.add(request.path("prefix").asText() + id));
            }
            case "corrupt" -> client.send("POST", "/v1/sessions/" + session + "/messages",
                    "{\"messages\":[{\"data\":1}]}");
            default -> throw new IllegalArgumentException("unknown operation");
        }
    }

    private static Message message(JsonNode m) {
        if (m.has("content_base64")) {
            throw new IllegalArgumentException("the content is not UTF-8");
        }
        String content = m.path("content").asText();
        return switch (m.path("role").asText()) {
            case "system" -> new SystemMessage(content);
            case "user" -> new UserMessage(content);
            case "tool" -> ToolResponseMessage.builder().responses(List.of(
                    new ToolResponseMessage.ToolResponse(m.path("tool_call_id").asText(), "", content))).build();
            default -> {
                List<AssistantMessage.ToolCall> calls = new ArrayList<>();
                m.path("tool_calls").forEach(c -> calls.add(new AssistantMessage.ToolCall(c.path("id").asText(),
                        "function", c.path("name").asText(), c.path("arguments").asText())));
                yield AssistantMessage.builder().content(content).toolCalls(calls).build();
            }
        };
    }

    private static ObjectNode json(Message m) {
        ObjectNode out = JSON.createObjectNode().put("role", m.getMessageType().getValue()).put("content", m.getText());
        if (m instanceof ToolResponseMessage t) {
            ToolResponseMessage.ToolResponse r = t.getResponses().get(0);
            out.put("tool_call_id", r.id()).put("content", r.responseData());
        } else if (m instanceof AssistantMessage a && a.hasToolCalls()) {
            ArrayNode calls = out.putArray("tool_calls");
            a.getToolCalls().forEach(c -> calls.addObject().put("id", c.id()).put("name", c.name())
                    .put("arguments", c.arguments()));
        }
        return out;
    }
}
