import { TurnlogError } from "./errors.js";

/** What no further attempt at the same node mends: the configuration of the client, or of the node, is wrong. */
const found = new WeakSet<TurnlogError>();

/** Marks the error of a connection, and returns it. @internal */
export function lasting(error: TurnlogError): TurnlogError {
  found.add(error);
  return error;
}

/** Whether an error is that of a connection which no further attempt at the same node mends. @internal */
export function lasts(error: TurnlogError): boolean {
  return found.has(error);
}

/** What is wrong, and what to do, by codes of Node.js and Bun and texts of Deno. */
const known: readonly [pattern: RegExp, explained: string][] = [
  [
    /UNABLE_TO_(VERIFY|GET_ISSUER)|SELF_SIGNED/,
    "trust the authority that has signed the certificate of this node: tls: { ca: … }",
  ],
  [
    /ERR_TLS_CERT_ALTNAME/,
    "connect by a name that is in the certificate of this node, or have it made for this one",
  ],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/, "renew the certificate of this node, or set the clock"],
  [/CERTIFICATE_?REQUIRED/i, "the node asks for a client certificate: tls: { cert: …, key: … }"],
  [
    /WRONG_VERSION_NUMBER|InvalidContentType/,
    "this port does not take TLS: connect without it, or to another port",
  ],
  [/Unknown RESP type (72 "H"|60 "<")/, "this is no port for Redis clients: give the address of one"],
  [/^ERR_SSL_|^CERT_|fatal alert/, "the TLS handshake failed"],
];

/** Explains the error of a connection that was not made, if no further attempt mends it. @internal */
export function whyNot(err: unknown): string | undefined {
  if (!(err instanceof Error)) return undefined;
  const { code } = err as { code?: unknown };
  const said = [typeof code === "string" ? code : "", err.message];
  return known.find(([pattern]) => said.some((text) => pattern.test(text)))?.[1];
}

/** Explains the error of a connection that was ended before anything was answered. @internal */
export function unanswered(err: unknown): string | undefined {
  const ended = err instanceof Error && /ECONNRESET|Socket closed unexpectedly/.test(err.message);
  return ended ? "it was closed before it was answered: is this a port for Redis clients?" : undefined;
}
