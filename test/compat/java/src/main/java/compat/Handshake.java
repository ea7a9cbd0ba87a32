package compat;

import io.lettuce.core.RedisClient;
import java.net.URI;
import redis.clients.jedis.Protocol;

/** Connects to a URL with a client: Handshake URL jedis|lettuce-core. */
public final class Handshake {
    public static void main(String[] args) {
        if (args[1].equals("jedis")) {
            try (redis.clients.jedis.RedisClient jedis = redis.clients.jedis.RedisClient.create(URI.create(args[0]))) {
                jedis.sendCommand(Protocol.Command.ECHO, "connected");
            }
        } else {
            RedisClient client = RedisClient.create(args[0]);
            client.connect().sync().echo("connected");
            client.shutdown();
        }
        System.exit(0);
    }
}
