import { isDeepStrictEqual } from "node:util";
import type { Json } from "../schedule/shape/json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { memberPath } from "../schedule/shape/shape-faults.ts";
import { hiddenDifferences, shownIfKnown } from "../schedule/shape/target-credentials.ts";

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

/** Larger payloads are compared but not shown. */
export const payloadShownMax = 2_000;

/** The differences between two bodies, without secrets. */
export function changesOfBody(before: ScheduleBody, after: ScheduleBody): Change[] {
  return [
    ...changesBetween(shownBody(before), shownBody(after)),
    ...hiddenDifferences(before.target, after.target).map((path) => ({ path })),
    ...payloadChanges(before.payload, after.payload),
  ];
}

/** The whole body of a new schedule, under the empty path, without secrets. */
export function changesOfNew(body: ScheduleBody): Change[] {
  const made = { path: "", before: null, after: shownBody(body) };
  return [made, ...payloadChanges(null, body.payload)];
}

function shownBody({ payload: _, target, ...spec }: ScheduleBody): Json {
  return JSON.parse(JSON.stringify({ ...spec, target: shownIfKnown(target) }));
}

function payloadChanges(before: Json, after: Json): Change[] {
  if (isDeepStrictEqual(before, after)) return [];
  const size = JSON.stringify(before).length + JSON.stringify(after).length;
  return size > payloadShownMax ? [{ path: "payload" }] : changesBetween(before, after, "payload");
}

/** A member may have the name of an inherited property. */
function member(value: { [name: string]: Json }, name: string): Json {
  return Object.hasOwn(value, name) ? (value[name] ?? null) : null;
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
