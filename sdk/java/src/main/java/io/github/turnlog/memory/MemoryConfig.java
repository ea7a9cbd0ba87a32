package io.github.turnlog.memory;

import java.time.Duration;

/** What a memory is like. */
public final class MemoryConfig {
    final TurnlogClient client;
    String prefix = "";
    Duration ttl;
    boolean conditional;

    private MemoryConfig(TurnlogClient client) {
        this.client = client;
    }

    /** Returns that of a memory which keeps everything, under keys that are the ids of the conversations. */
    public static MemoryConfig of(TurnlogClient client) {
        return new MemoryConfig(client);
    }

    /** Begins the keys of the conversations in turnlog; the id follows. */
    public MemoryConfig prefix(String prefix) {
        this.prefix = prefix;
        return this;
    }

    /** Deletes a conversation that long after its last turn. */
    public MemoryConfig ttl(Duration ttl) {
        this.ttl = ttl;
        return this;
    }

    /**
     * Makes an update a conflict, and nothing is changed, if others changed the conversation since this thread
     * read it. Otherwise what both have added is kept.
     */
    public MemoryConfig conditional() {
        conditional = true;
        return this;
    }
}
