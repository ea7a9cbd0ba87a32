import { onAbort } from "./abort.js";
import { invalid } from "./errors.js";

/** What bounds one call. */
export interface CallOptions {
  /** Ends the call early: it is rejected with a TurnlogError whose `cause` is the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds after which the call is given up, retries included. Without it, `Config.retryFor` and
   * `Config.stallTimeout` bound it.
   */
  timeout?: number | undefined;
}

/** Thrown by Call.wait when the call ended before the promise. @internal */
export class CallEnded extends Error {}

/** The time that one call has. @internal */
export class Call {
  readonly #signal: AbortSignal | undefined;
  readonly #end: number;
  readonly #timeout: number | undefined;
  #ended = false; // a timer may fire a little before the clock reaches the end

  constructor(options: CallOptions = {}) {
    const { signal, timeout } = options;
    if (signal && typeof signal.addEventListener !== "function") throw invalid("signal is no AbortSignal");
    if (timeout !== undefined && !(typeof timeout === "number" && timeout >= 0)) {
      throw invalid(`timeout ${timeout} is not a number of milliseconds`);
    }
    this.#signal = options.signal;
    this.#timeout = options.timeout;
    this.#end = options.timeout === undefined ? Infinity : performance.now() + options.timeout;
  }

  get over(): boolean {
    return this.#ended || this.#signal?.aborted === true || performance.now() >= this.#end;
  }

  /** Why the call is over: the signal's reason, or a timeout. */
  get reason(): unknown {
    if (this.#signal?.aborted) return this.#signal.reason;
    return new DOMException(`the call took longer than ${this.#timeout} ms`, "TimeoutError");
  }

  /** Resolves or rejects as `promise` does, or rejects with CallEnded when the call is over first. */
  wait<T>(promise: Promise<T>): Promise<T> {
    const signal = this.#signal;
    if (!signal && this.#end === Infinity) return promise;
    return new Promise<T>((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        ignore?.();
      };
      const ended = (): void => {
        stop();
        this.#ended = true;
        reject(new CallEnded("the call ended"));
      };
      const left = this.#end - performance.now();
      const timer = left === Infinity ? undefined : setTimeout(ended, Math.min(Math.max(left, 0), 2 ** 31 - 1));
      const ignore = signal && onAbort(signal, ended);
      promise.then(resolve, reject).finally(stop);
      if (signal?.aborted) ended();
    });
  }

  /** Waits for `ms`. It reports false if the call, or `until`, ends first. */
  async sleep(ms: number, until: AbortSignal): Promise<boolean> {
    if (until.aborted) return false;
    let wake!: (slept: boolean) => void;
    const slept = new Promise<boolean>((resolve) => (wake = resolve));
    const timer = setTimeout(wake, ms, true);
    const ignore = onAbort(until, () => wake(false));
    try {
      return await this.wait(slept);
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
      ignore();
    }
  }
}
