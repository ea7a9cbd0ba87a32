package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpServer;
import dev.langchain4j.data.message.ChatMessage;
import dev.langchain4j.data.message.UserMessage;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Users and TLS. */
class SecureTest {
    @TempDir
    static Path dir;
    private static Path ca;
    private static String password;
    private static Cluster secured;
    private static Cluster open;

    @BeforeAll
    static void start() throws Exception {
        turnlog("cert", "ca");
        turnlog("cert", "node", "n1", "--host", "127.0.0.1");
        ca = dir.resolve("certs/ca.crt");
        password = turnlog("user", "add", "bot", "--right", "write", "--allow-namespace", "0",
                "--allow-prefix", "chat:").strip();
        secured = new Cluster(1, "https", List.of("--users-file", dir.resolve("users.yaml").toString(),
                "--tls-cert", dir.resolve("certs/n1.crt").toString(),
                "--tls-key", dir.resolve("certs/n1.key").toString()));
        open = new Cluster(1, "http", List.of());
    }

    @AfterAll
    static void stop() throws Exception {
        secured.close();
        open.close();
    }

    private static String turnlog(String... args) throws IOException, InterruptedException {
        ProcessBuilder command = new ProcessBuilder(args).directory(dir.toFile());
        command.command().add(0, Cluster.BINARY);
        File out = dir.resolve("out").toFile();
        assertEquals(0, command.redirectErrorStream(false).redirectOutput(out).start().waitFor());
        return Files.readString(out.toPath());
    }

    private static TurnlogClient.Builder client(String... nodes) {
        return TurnlogClient.of(nodes).retryFor(Duration.ofMinutes(1)); // longer than the nodes take to start
    }

    private static TurnlogChatMemoryStore store(TurnlogClient.Builder client) {
        return new TurnlogChatMemoryStore(MemoryConfig.of(client.build()).prefix("chat:"));
    }

    private static final List<ChatMessage> HI = List.of(UserMessage.from("hi"));

    @Test
    void aUserWorksOverTls() {
        TurnlogChatMemoryStore store = store(client(secured.url(0)).ca(ca).user("bot", password));
        store.updateMessages("1", HI);
        assertEquals(HI, store.getMessages("1"));
        TurnlogClient.Builder elsewhere = client(secured.url(0)).ca(ca).user("bot", password).namespace("other");
        assertEquals("FORBIDDEN", refused(elsewhere).code());
        assertEquals("UNAUTHORIZED", refused(client(secured.url(0)).ca(ca).user("bot", "guess")).code());
    }

    /** The request is not sent to a node that is not trusted, so that nothing was changed. */
    @Test
    void aNodeThatIsNotTrusted() {
        client(secured.url(0)).ca(ca).user("bot", password).build().send("GET", "/v1/sessions/chat:1", null);
        TurnlogClient stranger = client(secured.url(0)).user("bot", password).retryFor(Duration.ZERO).build();
        TurnlogException e;
        do { // on a busy machine, the handshake may take longer than the attempt
            e = assertThrows(TurnlogException.class, () -> append(stranger));
        } while (e.getCause().getCause() instanceof HttpTimeoutException);
        assertEquals("UNAVAILABLE", e.code());
        assertInstanceOf(SSLHandshakeException.class, e.getCause().getCause());
        assertFalse(e.maybeApplied(), e.toString());
        assertFalse(e.toString().contains(password), e.toString());
    }

    /** What no further attempt mends was tried again for all of retryFor, and did not say what to do. */
    @Test
    void aWrongNodeIsAnErrorAtOnce() {
        client(secured.url(0)).ca(ca).user("bot", password).build().send("GET", "/v1/sessions/chat:1", null);
        client(open.url(0)).build().send("GET", "/v1/cluster", null); // both have started
        Duration patient = Duration.ofMinutes(5);
        String plain = secured.url(0).replace("https:", "http:");
        String encrypted = open.url(0).replace("http:", "https:");
        assertTimeoutPreemptively(Duration.ofMinutes(1), () -> {
            wrong("UNAVAILABLE", "trust the authority", client(secured.url(0)).retryFor(patient));
            wrong("UNAVAILABLE", "does not take TLS", client(encrypted).ca(ca).retryFor(patient));
            wrong("INVALID", "HTTPS only", client(plain).retryFor(patient));
            wrong("INVALID", "HTTPS only", client(encrypted, plain).ca(ca).retryFor(patient));
        });
        append(client(plain, encrypted, open.url(0)).ca(ca).build()); // one node that works will do
    }

    private static void wrong(String code, String what, TurnlogClient.Builder client) {
        TurnlogException e = refused(client);
        assertEquals(code, e.code(), e.toString());
        assertTrue(e.getMessage().contains(what), e.toString());
    }

    private static TurnlogException refused(TurnlogClient.Builder client) {
        TurnlogException e = assertThrows(TurnlogException.class, () -> append(client.build()));
        assertFalse(e.maybeApplied(), e.toString());
        return e;
    }

    private static void append(TurnlogClient client) {
        client.send("POST", "/v1/sessions/chat:2/messages", "{\"messages\":[{\"id\":\"1\",\"data\":\"hi\"}]}");
    }

    /** After a node that did it and whose answer was lost, what a node says that would not do it settles nothing. */
    @Test
    void anAnswerThatSettlesNothing() throws Exception {
        client(open.url(0)).build().send("GET", "/v1/cluster", null);
        HttpServer loses = losingAnswers(open.url(0));
        try {
            String lost = "http://127.0.0.1:" + loses.getAddress().getPort();
            TurnlogException e = assertThrows(TurnlogException.class,
                    () -> append(client(lost, secured.url(0)).ca(ca).user("bot", "guess").build()));
            assertEquals("UNAUTHORIZED", e.code());
            assertTrue(e.maybeApplied(), e.toString());
            assertEquals(1, client(open.url(0)).build().send("GET", "/v1/sessions/chat:2", null).path("count").asInt());
        } finally {
            loses.stop(0);
        }
    }

    /** Passes requests on to a node, and closes the connection in place of each answer. */
    private static HttpServer losingAnswers(String node) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            HttpRequest request = HttpRequest.newBuilder(URI.create(node + exchange.getRequestURI()))
                    .header("Content-Type", "application/json")
                    .method(exchange.getRequestMethod(),
                            HttpRequest.BodyPublishers.ofByteArray(exchange.getRequestBody().readAllBytes()))
                    .build();
            try {
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.discarding());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            exchange.close();
        });
        server.start();
        return server;
    }

    @Test
    void aFileWithoutCertificates() throws Exception {
        assertThrows(IllegalArgumentException.class, () -> client(secured.url(0)).ca(dir.resolve("nowhere")));
        Path empty = Files.createFile(dir.resolve("empty"));
        assertThrows(IllegalArgumentException.class, () -> client(secured.url(0)).ca(empty));
        TurnlogClient.Builder both = client(secured.url(0)).ca(ca).http(HttpClient.newHttpClient());
        assertThrows(IllegalStateException.class, both::build);
    }
}
