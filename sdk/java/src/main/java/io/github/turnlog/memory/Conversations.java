package io.github.turnlog.memory;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.URLEncoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Conversations of messages of a type M, read and replaced as whole lists, as frameworks do. Of a list, only
 * what is new since the same thread read it is sent: so of two threads that add at once both turns are kept.
 */
final class Conversations<M> {
    /** Turns messages into JSON, and back. */
    interface Codec<M> {
        String encode(M message);

        M decode(String json) throws IOException;
    }

    /** What is stored of a message, and what it is to the framework: JSON with perhaps another spelling. */
    private record Stored(long seq, String raw, String text) {}

    private record History(String key, long revision, List<Stored> messages) {
        List<String> texts() {
            return messages.stream().map(Stored::text).toList();
        }
    }

    private final TurnlogClient client;
    private final Codec<M> codec;
    private final String prefix;
    private final Duration ttl; // null: never
    private final boolean conditional;
    private final ThreadLocal<History> read = new ThreadLocal<>(); // by this thread, last

    Conversations(MemoryConfig config, Codec<M> codec) {
        client = config.client;
        prefix = config.prefix;
        ttl = config.ttl;
        conditional = config.conditional;
        this.codec = codec;
    }

    List<M> read(String id) {
        List<M> messages = new ArrayList<>();
        read.set(load(prefix + id, messages));
        return messages;
    }

    /** Makes the messages the conversation. */
    void update(String id, List<M> messages) {
        String key = prefix + id;
        List<String> after = new ArrayList<>();
        for (M m : messages) {
            after.add(TurnlogClient.text(codec.encode(m)));
        }
        History before = read.get();
        if (before == null || !before.key.equals(key)) {
            before = load(key, new ArrayList<>());
        }
        if (!conditional) {
            read.remove(); // a call that failed, and is made again, finds out what is stored
        }
        apply(before, Change.between(before.texts(), after));
        read.remove();
    }

    private void apply(History before, Change change) {
        if (change.isNothing()) {
            return;
        }
        if (change.dropsOldest()) {
            trimAndAppend(before, change);
        } else {
            rewrite(before, change);
        }
    }

    /** Deletes a conversation, if there is one. */
    void delete(String id) {
        read.remove();
        client.send("DELETE", path(prefix + id), null);
    }

    /** Returns the ids of all conversations that have messages. */
    List<String> ids() {
        List<String> ids = new ArrayList<>();
        String cursor = "";
        do {
            JsonNode page = client.send("GET", "/v1/sessions?limit=1000&prefix=" + escape(prefix) + "&cursor="
                    + escape(cursor), null);
            for (JsonNode s : page.path("sessions")) {
                if (s.hasNonNull("key") && s.path("count").asLong() > 0) {
                    ids.add(s.path("key").asText().substring(prefix.length()));
                }
            }
            cursor = page.path("cursor").asText();
        } while (!cursor.isEmpty());
        return ids;
    }

    /** Reads a whole conversation, whose revision is that of the first page. */
    private History load(String key, List<M> into) {
        List<Stored> messages = new ArrayList<>();
        long revision = 0;
        long after = 0;
        JsonNode page;
        do {
            page = client.send("GET", path(key) + "/messages?encoding=base64&after=" + after, null);
            revision = messages.isEmpty() ? page.path("revision").asLong() : revision;
            for (JsonNode m : page.path("messages")) {
                after = m.path("seq").asLong();
                messages.add(stored(key, after, m, into));
            }
        } while (page.path("more").asBoolean());
        return new History(key, revision, messages);
    }

    private Stored stored(String key, long seq, JsonNode m, List<M> into) {
        String raw = new String(Base64.getDecoder().decode(m.path("data_base64").asText()), UTF_8);
        try {
            M message = codec.decode(raw);
            into.add(message);
            return new Stored(seq, raw, codec.encode(message));
        } catch (IOException | RuntimeException e) {
            throw new IllegalStateException("message " + seq + " of session " + key
                    + " was not stored by this memory, and cannot be read", e);
        }
    }

    /** Drops the oldest messages and adds others. Messages that others added since are kept. */
    private void trimAndAppend(History before, Change change) {
        if (change.dropped().isEmpty()) {
            ObjectNode body = TurnlogClient.JSON.createObjectNode();
            body.set("messages", withIds(change.added()));
            if (conditional) {
                body.put("expect", before.revision);
            }
            client.send("POST", path(before.key) + "/messages", TurnlogClient.text(expiring(body)));
            return;
        }
        int last = change.dropped().get(change.dropped().size() - 1);
        ArrayNode steps = TurnlogClient.JSON.createArrayNode();
        steps.addObject().putObject("trim").put("key", before.key).put("before", before.messages.get(last).seq + 1);
        commit(before.key, conditional ? before.revision : -1, steps, change.added());
    }

    /** Drops messages from among others, which takes all of those to be stored again. */
    private void rewrite(History before, Change change) {
        Set<Long> dropped = new HashSet<>();
        change.dropped().forEach(i -> dropped.add(before.messages.get(i).seq));
        for (History now = before;; now = load(before.key, new ArrayList<>())) {
            List<String> messages = new ArrayList<>();
            now.messages.stream().filter(m -> !dropped.contains(m.seq)).forEach(m -> messages.add(m.raw));
            messages.addAll(change.added());
            ArrayNode steps = TurnlogClient.JSON.createArrayNode();
            steps.addObject().putObject("clear").put("key", before.key);
            try {
                commit(before.key, now.revision, steps, messages);
                return;
            } catch (TurnlogException e) {
                if (!e.isConflict() || conditional) {
                    throw e;
                }
            }
        }
    }

    /** Commits steps and appends messages after them; revision: of the conversation before, or -1 for any. */
    private void commit(String key, long revision, ArrayNode steps, List<String> messages) {
        ObjectNode body = TurnlogClient.JSON.createObjectNode().put("id", UUID.randomUUID().toString());
        if (revision >= 0) {
            body.putArray("conditions").addObject().put("key", key).put("revision", revision);
        }
        if (!messages.isEmpty()) {
            ObjectNode append = steps.addObject().putObject("append").put("key", key);
            append.set("messages", withIds(messages));
            expiring(append);
        }
        body.set("steps", steps);
        client.send("POST", "/v1/transactions", TurnlogClient.text(body));
    }

    private ObjectNode expiring(ObjectNode append) {
        return ttl == null ? append : append.put("ttl_ms", ttl.toMillis());
    }

    private static ArrayNode withIds(List<String> messages) {
        ArrayNode list = TurnlogClient.JSON.createArrayNode();
        for (String m : messages) {
            list.addObject().put("id", UUID.randomUUID().toString())
                    .put("data_base64", Base64.getEncoder().encodeToString(m.getBytes(UTF_8)));
        }
        return list;
    }

    private static String path(String key) {
        return "/v1/sessions/" + escape(key);
    }

    private static String escape(String s) {
        return URLEncoder.encode(TurnlogClient.text(s), UTF_8).replace("+", "%20");
    }
}
