import { isDeepStrictEqual } from "node:util";
import type { Json } from "../schedule/shape/json.ts";
import { memberPath } from "../schedule/shape/shape-faults.ts";

/** One thing that differs between two versions. Without `before` and `after` the values are too large or too secret to be shown. */
export interface Change {
  path: string;
  before?: Json;
  after?: Json;
}

/** What differs between two values, down to the members of objects; lists are compared whole. A missing member counts as null. */
export function changesBetween(before: Json, after: Json, path = ""): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    changesBetween(member(before, name), member(after, name), memberPath(path, name)),
  );
}

/** A member may be named as one that every object has. */
function member(value: { [name: string]: Json }, name: string): Json {
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
