package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The contract suite, while nodes are killed: it takes ten minutes. */
@Tag("long")
class ContractTest {
    @Test
    void contract() throws Exception {
        Cluster cluster = new Cluster();
        Path report = Path.of("target/contract.txt");
        try (ServerSocket restarts = new ServerSocket(0)) {
            cluster.client().send("GET", "/v1/cluster", null);
            Thread killer = new Thread(() -> serve(restarts, cluster));
            killer.setDaemon(true);
            killer.start();
            // The class path goes by the environment, where no shell reads it; a connection is a restart.
            String adapter = "exec:java io.github.turnlog.memory.ContractAdapter http://{backend}";
            String restart = "exec 3<>/dev/tcp/127.0.0.1/" + restarts.getLocalPort()
                    + "; read -r done <&3; test \"$done\" = ok";
            ProcessBuilder verify = new ProcessBuilder(Cluster.BINARY, "verify", adapter, "--backend", cluster.url(0),
                    "--restart-cmd", "bash -c '" + restart + "'")
                    .redirectErrorStream(true).redirectOutput(report.toFile());
            verify.environment().put("CLASSPATH", System.getProperty("surefire.test.class.path",
                    System.getProperty("java.class.path")));
            int status = verify.start().waitFor();
            System.out.println(Files.readString(report));
            assertEquals(0, status, "a gate fails");
        } finally {
            cluster.close();
        }
    }

    /** Kills the leader, or all nodes, in turn, for each connection. */
    private static void serve(ServerSocket restarts, Cluster cluster) {
        for (int i = 0;; i++) {
            try (Socket s = restarts.accept()) {
                if (i % 2 == 0) {
                    cluster.killLeader();
                } else {
                    cluster.killAll();
                }
                s.getOutputStream().write("ok\n".getBytes());
            } catch (Exception e) {
                return; // the test has ended, or it fails for want of an answer
            }
        }
    }
}
