import type { Json } from "../shape/json.ts";
import type { RetryPolicy } from "../shape/retry-shape.ts";
import { sameJson } from "../shape/same-json.ts";
import type { ScheduleBody } from "../shape/schedule-body.ts";
import { parseScheduleBody } from "../shape/schedule-shape.ts";
import { unknownTarget } from "../shape/target-credentials.ts";
import type { Target } from "../shape/target-shape.ts";
import { isRecord, isStoredTarget, isText, kindOf } from "./stored-target.ts";

/**
 * The fields of a body that differ from the defaults. Target and payload have columns of their own.
 */
export type SparseBody = Partial<Omit<ScheduleBody, "target" | "payload" | "paused">> &
  Pick<ScheduleBody, "when">;

/** The values of fields that a caller leaves out. */
export const defaults: ScheduleBody = parseScheduleBody({ when: "-", target: { handler: "none" } });

const columnsOfTheirOwn = new Set(["target", "payload", "paused"]);
const usual: ReadonlyMap<string, unknown> = new Map(Object.entries(defaults));

/**
 * Only values that differ from the defaults are stored: with tens of millions of schedules the
 * defaults would be most of the table.
 */
export function sparseBody(body: ScheduleBody): SparseBody {
  const sparse: SparseBody = { when: body.when };
  // Unknown names are stored too: a newer release has written them.
  for (const [name, value] of Object.entries(body)) {
    if (!columnsOfTheirOwn.has(name) && !sameJson(value, usual.get(name))) Reflect.set(sparse, name, value);
  }
  return sparse;
}

export function fullBody(sparse: SparseBody, target: Target, payload: Json): ScheduleBody {
  return { ...defaults, ...sparse, retry: wholeRetry(sparse.retry), target, payload };
}

/**
 * A stored policy with all of its members. A policy of an older release has fewer members. The
 * default replaces a member of the wrong type or of a newer release: a wait that is no number could
 * not be written.
 */
export function wholeRetry(stored: unknown): RetryPolicy {
  if (stored == null) return defaults.retry;
  const given = isRecord(stored) ? stored : {};
  const policy: RetryPolicy = { ...defaults.retry, ...given };
  for (const [name, fitsIn] of retryKinds)
    if (!fitsIn(given[name])) Object.assign(policy, { [name]: defaults.retry[name] });
  return policy.backoff === "list" && policy.delays === undefined
    ? { ...policy, backoff: defaults.retry.backoff }
    : policy;
}

export interface ReadBody {
  /** With a default for each field that cannot be read. */
  body: ScheduleBody;
  /** The fields that cannot be read; null if there are none. */
  fault: string | null;
}

/**
 * A stored body, typed for its readers. Only the types of its values are checked: the rules may
 * have been different when it was written, and a newer release may have more fields.
 */
export function readBody({
  sparse,
  target,
  payload,
}: {
  sparse: unknown;
  target: unknown;
  payload: Json;
}): ReadBody {
  if (isSparseBody(sparse) && isStoredTarget(target))
    return { body: fullBody(sparse, target, payload), fault: null };
  const stored = isRecord(sparse) ? Object.entries(sparse) : [];
  const readable = { when: "", ...Object.fromEntries(stored.filter(([name, value]) => fits(name, value))) };
  const body = fullBody(
    isSparseBody(readable) ? readable : { when: "" },
    isStoredTarget(target) ? target : unknownTarget,
    payload,
  );
  const odd = stored.filter(([name, value]) => !fits(name, value));
  const faults = [
    ...(isRecord(sparse)
      ? odd.map(([name, value]) => `\`${name}\` is ${kindOf(value)}`)
      : ["the body is not an object"]),
    ...(isRecord(sparse) && sparse["when"] === undefined ? ["`when` is missing"] : []),
    ...(isStoredTarget(target) ? [] : [`\`target\` is ${kindOf(target)}`]),
  ];
  return { body, fault: `The stored version cannot be read: ${faults.join(", ")}.` };
}

type Fits = (value: unknown) => boolean;

const isFlag: Fits = (value) => typeof value === "boolean";
const isTexts: Fits = (value) => Array.isArray(value) && value.every(isText);
const isInstant: Fits = (value) => typeof value === "string" && !Number.isNaN(Date.parse(value));
const orNull =
  (kind: Fits): Fits =>
  (value) =>
    value === null || kind(value);
const isCount: Fits = (value) => typeof value === "number";
const isOneOf =
  (...words: string[]): Fits =>
  (value) =>
    typeof value === "string" && words.includes(value);
const orMissing =
  (kind: Fits): Fits =>
  (value) =>
    value === undefined || kind(value);

const retryKinds: readonly [keyof RetryPolicy, Fits][] = [
  ["attempts", orMissing((value) => Number.isSafeInteger(value))],
  ["backoff", orMissing(isOneOf("fixed", "linear", "exponential", "list"))],
  ["base", orMissing(isText)],
  ["max", orMissing(isText)],
  ["jitter", orMissing(isOneOf("full", "none"))],
  ["delays", orMissing(isTexts)],
];

const kinds: Record<Exclude<keyof SparseBody, "paused">, Fits> = {
  when: (value) => isText(value) || isTexts(value),
  timezone: isText,
  group: orNull(isText),
  serial: isFlag,
  priority: isText,
  tags: isTexts,
  description: orNull(isText),
  startsAt: orNull(isInstant),
  endsAt: orNull(isInstant),
  maxFires: orNull(isCount),
  calendar: (value) => value === null || (isRecord(value) && isText(value["name"])),
  catchUp: (value) =>
    isRecord(value) &&
    isText(value["policy"]) &&
    orNull(isText)(value["within"] ?? null) &&
    isCount(value["limit"]),
  deadline: orNull(isText),
  overlap: isText,
  spread: isText,
  slot: orNull(isText),
  dst: (value) => value === null || isRecord(value),
  retry: (value) => value === null || isRecord(value),
  timeout: isText,
  holdAfter: orNull(isCount),
  delivery: isText,
  deleteOnEnd: isFlag,
};

const kindByName: ReadonlyMap<string, Fits> = new Map(Object.entries(kinds));

function fits(name: string, value: unknown): boolean {
  return kindByName.get(name)?.(value) ?? true;
}

function isSparseBody(sparse: unknown): sparse is SparseBody {
  if (!isRecord(sparse) || sparse["when"] === undefined) return false;
  return Object.keys(sparse).every((name) => fits(name, sparse[name]));
}
