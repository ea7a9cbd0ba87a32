/** @internal */
export type JSONValue =
  null | undefined | boolean | number | string | JSONValue[] | { [name: string]: JSONValue };

/** The JSON of a value with the names of each object in order: equal values have equal text. @internal */
export function canonicalJSON(value: JSONValue): string {
  return JSON.stringify(value, (_, v: JSONValue) => {
    if (typeof v !== "object" || v === null || Array.isArray(v)) return v;
    return Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
