package io.github.turnlog.memory;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Sends requests to the nodes of a cluster over HTTP, and again to another node where one fails. Every request
 * of this package can be sent twice: what it adds has ids. Its methods may be called by any thread.
 */
public final class TurnlogClient {
    static final ObjectMapper JSON = new ObjectMapper();
    /** Less would end the last attempt before its request is sent, and leave it unknown whether it was. */
    private static final Duration SHORTEST_ATTEMPT = Duration.ofSeconds(1);
    private static final Duration LONGEST_ATTEMPT = Duration.ofSeconds(8);
    private static final Duration FIRST_PAUSE = Duration.ofMillis(10);
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(320);
    /** Final errors that do not say what became of the same request when it was sent before. */
    private static final Set<String> UNSETTLING =
            Set.of("UNAUTHORIZED", "FORBIDDEN", "INTERNAL", "NEWER_VERSION", "CORRUPT");

    private final List<URI> nodes;
    private final String namespace;
    private final String authorization; // null: no user
    private final Duration retryFor;
    private final HttpClient http;
    private final AtomicInteger preferred = new AtomicInteger(); // index of the node that answered last

    private TurnlogClient(Builder b) {
        nodes = List.copyOf(b.nodes);
        namespace = b.namespace;
        authorization = b.authorization;
        retryFor = b.retryFor;
        http = b.http != null ? b.http : http(b.trust);
    }

    private static HttpClient http(SSLContext trust) {
        HttpClient.Builder http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofSeconds(2));
        return trust == null ? http.build() : http.sslContext(trust).build();
    }

    /**
     * Returns a builder of a client of nodes such as http://127.0.0.1:7380, or https://n1.example.com:7380 of a
     * cluster with TLS. Give those of several nodes.
     */
    public static Builder of(String... nodes) {
        return new Builder(nodes);
    }

    /** What a client is like. */
    public static final class Builder {
        private final List<URI> nodes;
        private String namespace = "0";
        private String authorization;
        private Duration retryFor = Duration.ofSeconds(30);
        private HttpClient http;
        private SSLContext trust; // null: that of Java

        private Builder(String... nodes) {
            if (nodes.length == 0) {
                throw new IllegalArgumentException("no address of a node is given");
            }
            this.nodes = List.of(nodes).stream().map(n -> URI.create(n.replaceAll("/+$", ""))).toList();
        }

        /** Names the keyspace of all sessions; default "0". */
        public Builder namespace(String name) {
            namespace = name;
            return this;
        }

        /** Authenticates each request. */
        public Builder user(String name, String password) {
            authorization = "Basic " + Base64.getEncoder().encodeToString((name + ":" + password).getBytes(UTF_8));
            return this;
        }

        /**
         * Bounds the time of a request with all its attempts, the last of which has a second at least; default
         * 30 s, and an election takes about 2.5 s. Zero: one attempt.
         */
        public Builder retryFor(Duration d) {
            retryFor = d;
            return this;
        }

        /**
         * Trusts the certificates in a file of PEM, such as the ca.crt of "turnlog cert ca", and no others. The
         * file is read once, now.
         *
         * @throws IllegalArgumentException if the file cannot be read, or has no certificate
         */
        public Builder ca(Path file) {
            trust = PrivateCa.trusting(file);
            return this;
        }

        /** Sets the client that carries the requests, such as one that shows a certificate, or uses a proxy. */
        public Builder http(HttpClient client) {
            http = client;
            return this;
        }

        /**
         * Returns the client, which connects with the first request.
         *
         * @throws IllegalStateException if there is a client of {@link #http} that would not use {@link #ca}
         */
        public TurnlogClient build() {
            if (http != null && trust != null) {
                throw new IllegalStateException("ca and http are both set: give the HttpClient its own SSLContext");
            }
            return new TurnlogClient(this);
        }
    }

    /** Sends a request until a node answers it, and returns the answer. */
    JsonNode send(String method, String path, String body) {
        long deadline = System.nanoTime() + retryFor.toNanos();
        boolean maybe = false;
        BitSet wrong = new BitSet(); // nodes that no further attempt mends
        Duration pause = FIRST_PAUSE;
        for (int node = preferred.get();; node = (node + 1) % nodes.size()) {
            TurnlogException failed;
            try {
                JsonNode answer = attempt(nodes.get(node), method, path, body, deadline);
                preferred.set(node);
                return answer;
            } catch (Again again) {
                maybe |= again.failed.maybeApplied();
                failed = again.failed;
                wrong.set(node, again.lasts);
            } catch (TurnlogException e) {
                throw maybe && UNSETTLING.contains(e.code()) ? e.afterUnknown() : e;
            }
            if (wrong.cardinality() == nodes.size()) {
                throw new TurnlogException(failed.code(), failed.detail(), maybe, failed);
            }
            if (System.nanoTime() + pause.toNanos() > deadline) {
                throw new TurnlogException(failed.code(), "no node carried it out within " + retryFor.toMillis()
                        + " ms, the last: " + failed.detail(), maybe, failed);
            }
            sleep(pause, maybe);
            pause = pause.multipliedBy(2).compareTo(LONGEST_PAUSE) > 0 ? LONGEST_PAUSE : pause.multipliedBy(2);
        }
    }

    /** A failure after which the same request is sent again. */
    private static final class Again extends Exception {
        private static final long serialVersionUID = 1;
        final TurnlogException failed;
        final boolean lasts; // until somebody changes the configuration of the client, or of the node

        Again(TurnlogException failed, boolean lasts) {
            super(failed);
            this.failed = failed;
            this.lasts = lasts;
        }
    }

    private JsonNode attempt(URI node, String method, String path, String body, long deadline) throws Again {
        boolean writes = !method.equals("GET");
        long left = Math.max(SHORTEST_ATTEMPT.toMillis(), (deadline - System.nanoTime()) / 1_000_000);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(node + path))
                .timeout(Duration.ofMillis(Math.min(left, LONGEST_ATTEMPT.toMillis())))
                .header("Turnlog-Namespace", namespace)
                .header("Content-Type", "application/json")
                .method(method, body == null ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofString(body));
        if (authorization != null) {
            request.header("Authorization", authorization);
        }
        HttpResponse<byte[]> response;
        try {
            response = http.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
        } catch (ConnectException | HttpConnectTimeoutException e) { // before the request
            throw new Again(new TurnlogException("UNAVAILABLE", node + " cannot be reached: " + e, false, e), false);
        } catch (IOException e) {
            boolean lasts = Refusal.lasts(e);
            String what = node + (lasts ? " cannot be reached: " : " gave no answer: ") + Refusal.explain(e);
            throw new Again(new TurnlogException("UNAVAILABLE", what, writes && !lasts, e), lasts);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TurnlogException("UNAVAILABLE", "the thread was interrupted", writes, e);
        }
        return answer(node, response, writes);
    }

    private static JsonNode answer(URI node, HttpResponse<byte[]> response, boolean writes) throws Again {
        JsonNode answer;
        try {
            answer = JSON.readTree(response.body());
        } catch (IOException e) {
            throw new Again(new TurnlogException("UNAVAILABLE", node + " answered with status "
                    + response.statusCode() + " and no JSON", writes, e), false);
        }
        if (response.statusCode() / 100 == 2) {
            return answer;
        }
        JsonNode error = answer.path("error");
        TurnlogException failed = new TurnlogException(error.path("code").asText("INTERNAL"),
                error.path("message").asText("status " + response.statusCode()),
                writes && !error.path("outcome").asText().equals("not_applied"), null);
        boolean httpsOnly = failed.detail().equals("this port takes HTTPS only"); // another node may take HTTP
        if (error.path("retry").asBoolean() || failed.code().equals("UNKNOWN_OUTCOME") || httpsOnly) {
            throw new Again(failed, httpsOnly);
        }
        throw failed;
    }

    private static void sleep(Duration pause, boolean maybe) {
        try {
            Thread.sleep(pause.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new TurnlogException("UNAVAILABLE", "the thread was interrupted", maybe, e);
        }
    }

    /** Returns JSON as text, and refuses a text with half a surrogate pair, which would arrive as another one. */
    static String text(Object value) {
        String text;
        try {
            text = value instanceof String s ? s : JSON.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException("it has no JSON form: nothing was stored", e);
        }
        if (!UTF_8.newEncoder().canEncode(text)) {
            throw new IllegalArgumentException(
                    "a text has half a surrogate pair, and is no Unicode: nothing was stored");
        }
        return text;
    }
}
