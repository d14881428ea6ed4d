import type { Json } from "../../../client/json.ts";

/** Whether two values are the same JSON; the order of members does not matter. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, place) => sameJson(item, b[place]))
    );
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name]))
  );
}

/** The members of two objects that differ, by name. */
export function differingFields(
  before: Readonly<Record<string, Json>>,
  after: Readonly<Record<string, Json>>,
): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => !sameJson(before[name], after[name]));
}
