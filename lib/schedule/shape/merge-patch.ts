import { Refusal } from "../../refusal.ts";
import { jsonDepthMax } from "./json.ts";
import type { RetryPolicy } from "./retry-shape.ts";
import type { ScheduleBody } from "./schedule-body.ts";

/** One level more than a payload may have, for the body around it. */
const depthMax = jsonDepthMax + 1;

/** Objects with a fixed set of members: a null for an unknown member is a mistake. */
const fixedObjects = ["catchUp", "retry"] as const;

/** A body whose target may have `***` for its hidden values, which a patch leaves as they are. */
type Patched = Omit<ScheduleBody, "target"> & { target: object };

/**
 * A JSON merge patch (RFC 7396) on a stored body: fields that it does not name stay, and a null
 * restores the default. The result is for `parseScheduleBody`, which fills in the defaults and
 * reports the faults.
 */
export function patchedSchedule(found: Patched, patch: unknown): unknown {
  const stored = { ...found, retry: retryUnder(found.retry, isObject(patch) ? patch["retry"] : undefined) };
  const merged = mergePatch(stored, patch, 0);
  if (!isObject(merged) || !isObject(patch)) return merged;
  const nested = fixedObjects
    .filter((name) => isObject(merged[name]))
    .map((name) => [name, keepUnknownNulls(found[name], patch[name], merged[name])] as const);
  const { paused: _, ...lasting } = patch;
  const top = keepUnknownNulls(stored, lasting, merged);
  return isObject(top) ? Object.fromEntries([...Object.entries(top), ...nested]) : top;
}

/**
 * The members of a policy that stay under a patch. A policy of another kind starts from the
 * defaults of its kind.
 */
function retryUnder(stored: RetryPolicy, patch: unknown): Partial<RetryPolicy> {
  if (!isObject(patch)) return stored;
  if (Array.isArray(patch["delays"])) return {};
  const isOther = typeof patch["backoff"] === "string" && patch["backoff"] !== stored.backoff;
  if (!isOther && patch["delays"] !== null) return stored;
  const { base, max, attempts } = stored;
  return stored.backoff === "list" ? {} : { base, max, attempts };
}

export function mergePatch(target: unknown, patch: unknown, depth: number): unknown {
  if (!isObject(patch)) return patch;
  if (depth > depthMax)
    throw new Refusal("invalid", `The patch is nested more than ${depthMax} levels deep.`);
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, mergePatch(members.get(name), value, depth + 1));
  }
  // From entries, because assigning a member named `__proto__` would change the object's prototype.
  return Object.fromEntries(members);
}

/**
 * Keeps a null for an unknown field in the result, so that reading it as a schedule reports the
 * field.
 */
function keepUnknownNulls(stored: object, patch: unknown, merged: unknown): unknown {
  if (!isObject(patch) || !isObject(merged)) return merged;
  const unknown = Object.entries(patch).filter(
    ([name, value]) => value === null && !Object.hasOwn(stored, name),
  );
  return Object.fromEntries([...Object.entries(merged), ...unknown]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
