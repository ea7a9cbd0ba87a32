/**
 * A header and byte strings as one: the header's JSON, a line feed, and the strings one after another.
 * The header holds their lengths, so bytes are stored as they are.
 *
 * @internal
 */
export function frame(header: object, parts: readonly Uint8Array[]): Buffer {
  const lengths = parts.map((p) => p.length);
  return Buffer.concat([Buffer.from(JSON.stringify({ ...header, lengths }) + "\n"), ...parts]);
}

/** Takes apart what `frame` made; throws if it did not. @internal */
export function unframe<T>(data: Uint8Array): { header: T; parts: Uint8Array[] } {
  const end = data.indexOf(0x0a);
  if (end < 0) throw new SyntaxError("no header");
  const header = JSON.parse(Buffer.from(data.subarray(0, end)).toString()) as T & { lengths: number[] };
  let at = end + 1;
  const parts = header.lengths.map((n) => data.subarray(at, (at += n)));
  if (at !== data.length) throw new SyntaxError(`${data.length} bytes instead of ${at}`);
  return { header, parts };
}
