import { isDeepStrictEqual } from "node:util";
import type { Json } from "../schedule/shape/json.ts";
import { memberPath } from "../schedule/shape/shape-faults.ts";

/**
 * A difference between two versions. Without `before` and `after` the values are too large or too
 * secret to show.
 */
export interface Change {
  path: string;
  before?: Json;
  after?: Json;
}

/**
 * The differences between two values, down to the members of objects. Lists are compared whole. A
 * missing member counts as null.
 */
export function changesBetween(before: Json, after: Json, path = ""): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) =>
    changesBetween(member(before, name), member(after, name), memberPath(path, name)),
  );
}

/** A member may have the name of an inherited property. */
function member(value: { [name: string]: Json }, name: string): Json {
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
