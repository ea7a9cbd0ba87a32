package io.github.turnlog.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PortsTest {
    @Test
    void aPortIsGivenOnceAndNoOutgoingConnectionGetsIt() throws IOException {
        try (Ports some = new Ports(300); Ports others = new Ports(100)) {
            Set<Integer> given = new HashSet<>(some.numbers());
            given.addAll(others.numbers());
            assertEquals(400, given.size());
            given.forEach(port -> assertTrue(port >= Ports.FIRST && port <= Ports.LAST, "port " + port));
        }
    }

    @Test
    void aPortThatIsHeldOrThatAServerHasIsNotToBeHad() throws IOException {
        Ports held = new Ports(1);
        int port = held.numbers().get(0);
        assertEquals(List.of(), Ports.ofOne(port).numbers());
        held.close();
        try (ServerSocket server = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            assertEquals(List.of(), Ports.ofOne(server.getLocalPort()).numbers());
        }
        try (Ports again = Ports.ofOne(port)) {
            assertEquals(List.of(port), again.numbers());
        }
    }
}
