package io.github.turnlog.memory;

import java.io.IOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Ports of loopback on which nothing listens, and which no other test gets before they are closed, also while the
 * servers that they are for are down. They are held in the same way as those of tests in Go: see internal/ports.
 */
final class Ports implements AutoCloseable {
    // Below the ports that systems give to outgoing connections.
    static final int FIRST = 10_000;
    static final int LAST = 31_999;

    private final List<DatagramSocket> held = new ArrayList<>();

    Ports(int n) throws IOException {
        for (int tries = 0; held.size() < n; tries++) {
            if (tries == 1000 + 10 * n) {
                close();
                throw new IOException("no " + n + " free ports were found");
            }
            hold(ThreadLocalRandom.current().nextInt(FIRST, LAST + 1));
        }
    }

    private Ports() {}

    /** Holds one port, if it is free. */
    static Ports ofOne(int port) {
        Ports ports = new Ports();
        ports.hold(port);
        return ports;
    }

    private void hold(int port) {
        InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        DatagramSocket socket;
        try {
            socket = new DatagramSocket(address);
        } catch (SocketException e) {
            return; // another test has it
        }
        try (Socket asking = new Socket()) {
            asking.connect(address);
            socket.close(); // somebody listens
        } catch (IOException e) {
            held.add(socket);
        }
    }

    List<Integer> numbers() {
        return held.stream().map(DatagramSocket::getLocalPort).toList();
    }

    @Override
    public void close() {
        held.forEach(DatagramSocket::close);
        held.clear();
    }
}
