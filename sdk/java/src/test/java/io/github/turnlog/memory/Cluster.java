package io.github.turnlog.memory;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** A cluster of real nodes, each a process of the built binary. */
final class Cluster {
    static final String BINARY = System.getProperty("turnlog", new File("../../bin/turnlog").getAbsolutePath());

    private final Path dir;
    private final Ports reserved;
    private final List<List<String>> commands = new ArrayList<>();
    private final List<Process> nodes = new ArrayList<>();
    private final List<String> urls = new ArrayList<>();

    /** Starts three nodes. */
    Cluster() throws IOException {
        this(3, "http", List.of());
    }

    /** Starts nodes, whose HTTP interface is at the scheme, with further options. */
    Cluster(int size, String scheme, List<String> options) throws IOException {
        dir = Files.createTempDirectory("turnlog-java-");
        reserved = new Ports(3 * size);
        List<Integer> ports = reserved.numbers();
        StringBuilder peers = new StringBuilder();
        for (int i = 0; i < size; i++) {
            peers.append(i > 0 ? "," : "").append("n" + (i + 1) + "=127.0.0.1:" + ports.get(3 * i + 2));
        }
        for (int i = 0; i < size; i++) {
            urls.add(scheme + "://127.0.0.1:" + ports.get(3 * i + 1));
            List<String> command = new ArrayList<>(List.of(BINARY, "serve", "--node-id", "n" + (i + 1),
                    "--data-dir", dir.resolve("n" + i).toString(),
                    "--resp-addr", "127.0.0.1:" + ports.get(3 * i), "--http-addr", "127.0.0.1:" + ports.get(3 * i + 1),
                    "--raft-addr", "127.0.0.1:" + ports.get(3 * i + 2), "--initial-cluster", peers.toString()));
            command.addAll(options);
            commands.add(command);
            nodes.add(null);
            start(i);
        }
    }

    private void start(int i) throws IOException {
        File log = dir.resolve("n" + i + ".log").toFile();
        nodes.set(i, new ProcessBuilder(commands.get(i)).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log)).start());
    }

    /** Returns a client that outlasts elections, and the start of the cluster. */
    TurnlogClient client() {
        return TurnlogClient.of(urls.toArray(new String[0])).retryFor(Duration.ofMinutes(1)).build();
    }

    String url(int i) {
        return urls.get(i);
    }

    /** Kills the leader with SIGKILL, and starts it again when another node leads. */
    void killLeader() throws IOException, InterruptedException {
        int leader = leader();
        kill(leader);
        while (leader() == leader) {
            Thread.yield();
        }
        start(leader);
    }

    private int leader() {
        for (;;) { // until there is one, which the client's time-out bounds
            String id = client().send("GET", "/v1/cluster", null).path("leader").asText();
            if (!id.isEmpty()) {
                return Integer.parseInt(id.substring(1)) - 1;
            }
        }
    }

    private void kill(int i) throws InterruptedException {
        nodes.get(i).destroyForcibly().waitFor();
    }

    void killAll() throws IOException, InterruptedException {
        for (int i = 0; i < nodes.size(); i++) {
            kill(i);
        }
        for (int i = 0; i < nodes.size(); i++) {
            start(i);
        }
    }

    void close() throws IOException, InterruptedException {
        for (int i = 0; i < nodes.size(); i++) {
            kill(i);
        }
        reserved.close();
        try (Stream<Path> files = Files.walk(dir)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }
}
