/**
 * What kind of error an operation ended with: the codes of turnlog's other interfaces.
 *
 * | kind | meaning |
 * |---|---|
 * | `INTERNAL` | a defect; the operation did not take place |
 * | `INVALID` | the request is malformed |
 * | `TOO_LARGE` | a limit on size or count was exceeded |
 * | `NOT_FOUND` | the session, or what it should hold, does not exist |
 * | `EXISTS` | something exists that must not |
 * | `CONFLICT` | a condition (`expect`, ids of a batch) does not hold |
 * | `ID_REUSED` | a message id came back with another payload |
 * | `WRONG_TYPE` | the key holds another type of value |
 * | `OVERLOADED` | a queue is full |
 * | `UNAVAILABLE` | no node could be reached, or there is no leader; surely not applied |
 * | `UNKNOWN_OUTCOME` | the write may or may not have taken place |
 * | `READ_ONLY` | no disk space; reads work, writes do not |
 * | `NEWER_VERSION` | data written by a newer version of turnlog |
 * | `CORRUPT` | stored data fails its checksum |
 * | `UNAUTHORIZED` | credentials are missing or wrong |
 * | `FORBIDDEN` | credentials do not allow this |
 */
export type ErrorKind = (typeof kinds)[number];

const kinds = [
  "INTERNAL",
  "INVALID",
  "TOO_LARGE",
  "NOT_FOUND",
  "EXISTS",
  "CONFLICT",
  "ID_REUSED",
  "WRONG_TYPE",
  "OVERLOADED",
  "UNAVAILABLE",
  "UNKNOWN_OUTCOME",
  "READ_ONLY",
  "NEWER_VERSION",
  "CORRUPT",
  "UNAUTHORIZED",
  "FORBIDDEN",
] as const;

/** Whether a write that ended with an error surely did not take place, or perhaps did. */
export type Outcome = "not_applied" | "unknown";

/** What an error says besides its text. */
interface Numbers {
  revision?: number;
  condition?: number;
  step?: number;
}

/** The error of an operation. Every error of this package is one. */
export class TurnlogError extends Error {
  override readonly name = "TurnlogError";
  readonly kind: ErrorKind;
  /** The session's current revision, of a `CONFLICT` with `expect`; 0 if there is no session. */
  readonly revision: number | undefined;
  /** Which condition of a transaction does not hold, or which of its steps cannot take place, from 1. */
  readonly condition: number | undefined;
  readonly step: number | undefined;

  /** @internal */
  constructor(kind: ErrorKind, message: string, options: ErrorOptions & Numbers = {}) {
    super(`${kind}: ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.revision = options.revision;
    this.condition = options.condition;
    this.step = options.step;
  }

  /** `unknown` if the write may have taken place, else `not_applied`. */
  get outcome(): Outcome {
    return this.kind === "UNKNOWN_OUTCOME" ? "unknown" : "not_applied";
  }

  /**
   * Whether the same request may succeed when it is sent again. After `UNKNOWN_OUTCOME` a write is
   * safe to send again only under the same message ids.
   */
  get retryable(): boolean {
    return this.kind === "OVERLOADED" || this.kind === "UNAVAILABLE" || this.kind === "READ_ONLY";
  }

  /**
   * Whether `error` is a TurnlogError, of that kind if one is given. Unlike `instanceof` it also
   * recognises errors of a second copy of this package.
   */
  static is(error: unknown, kind?: ErrorKind): error is TurnlogError {
    if (!(error instanceof Error) || error.name !== "TurnlogError") return false;
    return kind === undefined || (error as TurnlogError).kind === kind;
  }
}

/** @internal */
export function invalid(message: string, cause?: unknown): TurnlogError {
  return new TurnlogError("INVALID", `${message}; nothing was sent`, { cause });
}

/** Errors of Redis's vocabulary, by code. */
const redisCodes: Record<string, ErrorKind> = {
  NOAUTH: "UNAUTHORIZED",
  WRONGPASS: "UNAUTHORIZED",
  NOPERM: "FORBIDDEN",
  LOADING: "UNAVAILABLE",
  UNKNOWNRESULT: "UNKNOWN_OUTCOME",
  OOM: "OVERLOADED",
  READONLY: "READ_ONLY",
  MISCONF: "READ_ONLY",
  WRONGTYPE: "WRONG_TYPE",
};

/** Translates the text of an error reply. @internal */
export function fromReply(text: string): TurnlogError {
  const space = text.indexOf(" ");
  const code = space < 0 ? text : text.slice(0, space);
  const message = space < 0 ? "" : text.slice(space + 1);
  if ((kinds as readonly string[]).includes(code)) return ofTurnlog(code as ErrorKind, message);
  if (text.startsWith("ERR max number of clients")) return new TurnlogError("UNAVAILABLE", message);
  const kind = redisCodes[code];
  if (kind) return new TurnlogError(kind, message);
  const unknown = /^ERR unknown command '([^']*)'/.exec(text);
  return new TurnlogError("INVALID", unknown ? older(unknown[1]!) : text);
}

/** The rest of the server's text would repeat what was sent. */
function older(command: string): string {
  return (
    `the server does not know ${command}, so nothing was changed: it is older than this client ` +
    "(then upgrade its nodes, or use an older client), or it is no turnlog"
  );
}

function ofTurnlog(kind: ErrorKind, message: string): TurnlogError {
  const numbers: Numbers = {};
  const rest = message.replace(/^(?:(?:revision|condition|step)=\d+(?: |$))+/, (said) => {
    for (const word of said.trim().split(" ")) {
      const [name, n] = word.split("=");
      numbers[name as keyof Numbers] = Number(n);
    }
    return "";
  });
  return new TurnlogError(kind, rest, numbers);
}

/** Returns `error` as a TurnlogError; another error is a defect. @internal */
export function asTurnlogError(error: unknown): TurnlogError {
  if (TurnlogError.is(error)) return error;
  return new TurnlogError("INTERNAL", error instanceof Error ? error.message : String(error), { cause: error });
}

/** @internal */
export function withoutKind(error: TurnlogError): string {
  return error.message.slice(error.kind.length + 2);
}
