interface Waiting {
  calls: Set<() => void>;
  listener: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls `ended` when the signal aborts, until the function that it returns is called. All that wait for a
 * signal share one listener: Node.js warns of a leak when there are more than ten.
 *
 * @internal
 */
export function onAbort(signal: AbortSignal, ended: () => void): () => void {
  let w = waiting.get(signal);
  if (!w) {
    const calls = new Set<() => void>();
    w = { calls, listener: () => [...calls].forEach((call) => call()) };
    waiting.set(signal, w);
  }
  const { calls, listener } = w;
  if (calls.size === 0) signal.addEventListener("abort", listener);
  calls.add(ended);
  return () => {
    if (calls.delete(ended) && calls.size === 0) signal.removeEventListener("abort", listener);
  };
}
