package io.github.turnlog.memory;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.Message;
import org.springframework.ai.chat.messages.SystemMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.content.Media;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.util.MimeTypeUtils;

/** The JSON form of Spring AI's messages: those of OpenAI's chat API, with metadata and media beside. */
final class SpringMessages implements Conversations.Codec<Message> {
    /** Metadata is a map of anything; its order must not make another message of it. */
    private static final ObjectMapper JSON = new ObjectMapper()
            .configure(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS, true)
            .configure(SerializationFeature.FAIL_ON_EMPTY_BEANS, false);
    private static final String TYPE = "messageType"; // Spring AI puts it into all metadata

    @Override
    public String encode(Message message) {
        ObjectNode json = JSON.createObjectNode().put("role", message.getMessageType().getValue());
        json.put("content", message.getText());
        if (message instanceof AssistantMessage a) {
            calls(a, json);
            media(a.getMedia(), json);
        } else if (message instanceof UserMessage u) {
            media(u.getMedia(), json);
        } else if (message instanceof ToolResponseMessage t) {
            ArrayNode responses = json.putArray("responses");
            t.getResponses().forEach(r -> responses.addObject().put("tool_call_id", r.id()).put("name", r.name())
                    .put("content", r.responseData()));
        } else if (!(message instanceof SystemMessage)) {
            throw new IllegalArgumentException("a message of " + message.getClass() + " has no form in turnlog: "
                    + "nothing was stored");
        }
        Map<String, Object> metadata = new TreeMap<>(message.getMetadata());
        metadata.remove(TYPE);
        try {
            if (!metadata.isEmpty()) {
                json.set("metadata", JSON.readTree(JSON.writeValueAsString(metadata)));
            }
            return JSON.writeValueAsString(json);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("the metadata of a message has no JSON form: nothing was stored", e);
        }
    }

    private static void calls(AssistantMessage message, ObjectNode json) {
        if (!message.hasToolCalls()) {
            return;
        }
        ArrayNode calls = json.putArray("tool_calls");
        message.getToolCalls().forEach(c -> calls.addObject().put("id", c.id()).put("type", c.type())
                .putObject("function").put("name", c.name()).put("arguments", c.arguments()));
    }

    private static void media(List<Media> list, ObjectNode json) {
        if (list.isEmpty()) {
            return;
        }
        ArrayNode media = json.putArray("media");
        for (Media m : list) {
            ObjectNode one = media.addObject().put("mime_type", m.getMimeType().toString()).put("name", m.getName());
            if (m.getId() != null) {
                one.put("id", m.getId());
            }
            if (m.getData() instanceof byte[] bytes) {
                one.put("data_base64", bytes);
            } else {
                one.put("url", m.getData().toString());
            }
        }
    }

    @Override
    public Message decode(String text) throws IOException {
        JsonNode json = JSON.readTree(text);
        Map<String, Object> metadata = JSON.convertValue(json.path("metadata"), new TypeReference<>() {});
        metadata = metadata == null ? Map.of() : metadata;
        String content = json.path("content").isNull() ? null : json.path("content").asText();
        switch (json.path("role").asText()) {
            case "system":
                return SystemMessage.builder().text(content).metadata(metadata).build();
            case "user":
                return UserMessage.builder().text(content).media(media(json)).metadata(metadata).build();
            case "assistant":
                return AssistantMessage.builder().content(content).properties(metadata).toolCalls(calls(json))
                        .media(media(json)).build();
            case "tool":
                List<ToolResponseMessage.ToolResponse> responses = new ArrayList<>();
                json.path("responses").forEach(r -> responses.add(new ToolResponseMessage.ToolResponse(
                        r.path("tool_call_id").asText(), r.path("name").asText(), r.path("content").asText())));
                return ToolResponseMessage.builder().responses(responses).metadata(metadata).build();
            default:
                throw new IOException("it has no role that Spring AI knows");
        }
    }

    private static List<AssistantMessage.ToolCall> calls(JsonNode json) {
        List<AssistantMessage.ToolCall> calls = new ArrayList<>();
        json.path("tool_calls").forEach(c -> calls.add(new AssistantMessage.ToolCall(c.path("id").asText(),
                c.path("type").asText(), c.path("function").path("name").asText(),
                c.path("function").path("arguments").asText())));
        return calls;
    }

    private static List<Media> media(JsonNode json) throws IOException {
        List<Media> list = new ArrayList<>();
        for (JsonNode m : json.path("media")) {
            Media.Builder one = Media.builder().mimeType(MimeTypeUtils.parseMimeType(m.path("mime_type").asText()))
                    .name(m.path("name").asText());
            if (m.hasNonNull("id")) {
                one.id(m.path("id").asText());
            }
            if (m.hasNonNull("url")) {
                one.data(URI.create(m.path("url").asText()));
            } else {
                one.data(new ByteArrayResource(m.path("data_base64").binaryValue()));
            }
            list.add(one.build());
        }
        return list;
    }
}
