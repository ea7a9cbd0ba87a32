import type { Call } from "./call.js";

/** Bounds the bytes in flight. Calls beyond it wait in the order in which they came. @internal */
export class Budget {
  readonly #most: number;
  #used = 0;
  #queue: { bytes: number; admit: () => void }[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes bytes, which the caller gives back, or rejects when the call is over before there are so many. */
  take(bytes: number, call: Call): Promise<void> | undefined {
    if (this.#queue.length === 0 && this.#used + bytes <= this.#most) {
      this.#used += bytes;
      return undefined;
    }
    const waiter = { bytes, admit: (): void => {} };
    const admitted = new Promise<void>((resolve) => (waiter.admit = resolve));
    this.#queue.push(waiter);
    return call.wait(admitted).catch((err) => {
      const at = this.#queue.indexOf(waiter);
      if (at < 0)
        this.give(bytes); // it was admitted at the same moment
      else this.#queue.splice(at, 1);
      this.#admit();
      throw err;
    });
  }

  give(bytes: number): void {
    this.#used -= bytes;
    this.#admit();
  }

  #admit(): void {
    for (let next = this.#queue[0]; next && this.#used + next.bytes <= this.#most; next = this.#queue[0]) {
      this.#used += next.bytes;
      this.#queue.shift();
      next.admit();
    }
  }
}
