import { TurnlogError, withoutKind } from "./errors.js";
import { lasts } from "./lasting.js";

/** The last error of each node that a call failed at. @internal */
export class Tried {
  readonly #nodes = new Map<string, TurnlogError>();

  /** Notes that a node failed with an error, which becomes the last one. */
  note(addr: string, error: TurnlogError): void {
    this.#nodes.delete(addr);
    this.#nodes.set(addr, error);
  }

  /** Whether every one of so many nodes has failed for a reason that lasts. */
  lastingly(nodes: number): boolean {
    return this.#nodes.size >= nodes && [...this.#nodes.values()].every(lasts);
  }

  /**
   * Returns the error of a call whose last attempt ended with `error`. If no node could serve the call, it says
   * so of each node, and first what one answered.
   */
  all(error: TurnlogError): TurnlogError {
    if (error.kind !== "UNAVAILABLE" || this.#nodes.size < 2) return error;
    const nodes = [...this.#nodes].filter(([, e]) => e.kind === "UNAVAILABLE");
    const [addr, first] = nodes.findLast(([, e]) => answered(e)) ?? nodes.at(-1)!;
    const others = nodes
      .filter(([, e]) => e !== first)
      .map(([a, e]) => (answered(e) ? `${a}: ` : "") + withoutKind(e));
    if (others.length === 0) return error;
    const tried = `${answered(first) ? `${addr}; ` : ""}also tried: ${others.join("; ")}`;
    return new TurnlogError("UNAVAILABLE", `${withoutKind(first)} (${tried})`, { cause: first.cause });
  }
}

/** Whether an error is a node's answer; others have what was caught as their cause. */
function answered(error: TurnlogError): boolean {
  return error.cause === undefined;
}
