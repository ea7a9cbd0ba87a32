// Connects to a URL with node-redis or ioredis: handshake.mjs URL PACKAGE, where the
// package is one of package.json.
const [url, name] = process.argv.slice(2);
const client = await import(name);
if (name.startsWith("ioredis")) {
  const redis = new client.Redis(url);
  await redis.echo("connected");
  redis.disconnect();
} else {
  const redis = client.createClient({ url });
  redis.on("error", (e) => { throw e; });
  await redis.connect();
  await redis.sendCommand(["ECHO", "connected"]);
  await redis.disconnect();
}
