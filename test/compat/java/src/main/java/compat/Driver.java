package compat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Drives Java chat histories; see test/compat/README.md for the protocol. */
public final class Driver {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode config;
    private final Histories.Maker maker;
    private final History history;
    private volatile boolean stopping;

    private Driver(JsonNode config) throws Exception {
        this.config = config;
        maker = Histories.BY_NAME.get(config.get("subject").asText());
        history = open(config.get("url").asText());
    }

    private History open(String url) throws Exception {
        return maker.make(new Histories.Target(URI.create(url), config.get("retry").asBoolean()));
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Driver driver = new Driver(JSON.readTree(in.readLine()));
        String library = driver.config.get("subject").asText();
        say(Map.of("ready", Histories.versions(Histories.PACKAGES.get(library))));
        List<Thread> slots = new ArrayList<>();
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode command = JSON.readTree(line);
            if (command.has("start")) {
                for (int i = 0; i < driver.config.get("slots").asInt(); i++) {
                    int number = i;
                    Thread slot = new Thread(() -> driver.slot(number));
                    slot.start();
                    slots.add(slot);
                }
            } else if (command.has("stop")) {
                driver.stopping = true;
                for (Thread slot : slots) {
                    slot.join();
                }
                say(Map.of("done", "stop"));
            } else {
                History other = driver.open(command.get("read").asText());
                for (JsonNode name : command.get("names")) {
                    read(other, "final", name.asText());
                }
                say(Map.of("done", "read"));
            }
        }
        System.exit(0); // clients have threads of their own
    }

    /** One conversation after the other, one message after the other. */
    private void slot(int number) {
        for (int round = 0; !stopping; round++) {
            String name = config.get("prefix").asText() + "-" + number + "-" + round;
            for (int n = 0; n < config.get("messages").asInt() && !stopping; n++) {
                add(name, n);
                if (n % config.get("read_every").asInt() == 0) {
                    read(history, "read", name);
                }
                pause();
            }
        }
    }

    private void pause() {
        try {
            Thread.sleep(config.get("pause_ms").asInt());
        } catch (InterruptedException e) {
            stopping = true;
        }
    }

    private void add(String name, int n) {
        long start = System.nanoTime();
        String error = "";
        try {
            history.add(name, name + "/" + n);
        } catch (RuntimeException e) {
            error = reason(e);
        }
        say(Map.of("add", name, "n", n, "took", (System.nanoTime() - start) / 1e9, "error", error));
    }

    private static void read(History history, String kind, String name) {
        try {
            say(Map.of(kind, name, "seen", history.texts(name)));
        } catch (RuntimeException e) {
            say(Map.of(kind, name, "error", reason(e)));
        }
    }

    private static String reason(Exception e) {
        return e.getClass().getSimpleName() + ": " + e.getMessage();
    }

    private static synchronized void say(Map<String, ?> line) {
        try {
            System.out.println(JSON.writeValueAsString(line));
        } catch (com.fasterxml.jackson.core.JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }
}
