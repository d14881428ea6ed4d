import * as z from "zod";
import type { Operation } from "../batch/operation.ts";
import { type Fault, Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { shapeFaults } from "../schedule/shape/shape-faults.ts";
import type { Acceptance } from "./acceptance.ts";
import { readJob } from "./job-shape.ts";
import {
  pauseShape,
  readKey,
  readNamedScheduleBody,
  readScheduleBody,
  readSchedulePatch,
  resumeShape,
} from "./schedule-input.ts";

const verbs = ["put", "patch", "delete", "pause", "resume", "job"] as const;
type Verb = (typeof verbs)[number];

/** Conditions that may stand beside the verb. */
const conditionsShape = z.strictObject({
  ifMatch: z.int().min(1).max(999_999_999).optional(),
  /** For `put` only: it is done only if there is no schedule with this key yet. */
  ifNoneMatch: z.boolean().optional(),
});

/**
 * Reads one operation from JSON: a verb and its parameters.
 * - `{ "put": { "key": …, "when": …, "target": … } }`
 * - `{ "patch": { "key": …, … } }`
 * - `{ "delete": "<key>" }`
 * - `{ "pause": "<key>" }` or `{ "pause": { "key": …, "reason"?, "until"?, "owner"? } }`
 * - `{ "resume": … }`
 * - `{ "job": { "target": …, "at"?, "key"? } }`
 *
 * All but `job` take `ifMatch` beside the verb. Throws a Refusal that names every fault below the
 * verb.
 */
export function readCommand(command: Command, acceptance: Acceptance): { operation: Operation; verb: Verb } {
  const { verb, value, conditions } = verbOf(command.input);
  return { operation: readOperation(command, { verb, value, conditions }, acceptance), verb };
}

type Asked = ReturnType<typeof verbOf>;

function readOperation(
  command: Command,
  { verb, value, conditions }: Asked,
  acceptance: Acceptance,
): Operation {
  const { ifMatch, ifNoneMatch } = conditions;
  if (verb === "job") return readJobOperation(command, { value, conditions }, acceptance);
  const key = keyOf(verb, value, acceptance);
  command.refuseKey?.(key);
  const common = {
    key,
    caller: command.caller,
    countFrom: command.countFrom,
    ...(ifMatch === undefined ? {} : { ifMatch: [ifMatch] }),
  };
  switch (verb) {
    case "put": {
      const body = below(verb, () => readScheduleBody(value, key, acceptance.besides));
      below(verb, () => acceptance.body(body, key));
      return { ...common, kind: "put", body, ifNoneMatch };
    }
    case "patch": {
      const patch = below(verb, () => readSchedulePatch(value, key));
      below(verb, () => acceptance.patch(patch));
      return { ...common, kind: "patch", patch, accept: acceptance.patched };
    }
    case "delete":
      return { ...common, kind: "delete" };
    case "pause": {
      const { reason, until, owner } = readBeside(verb, pauseShape, value);
      if (owner != null) command.refuseOwner?.(verb, owner);
      return {
        ...common,
        kind: "pause",
        reason: reason ?? undefined,
        until: until ?? undefined,
        owner: owner ?? undefined,
      };
    }
    case "resume": {
      const { owner } = readBeside(verb, resumeShape, value);
      if (owner != null) command.refuseOwner?.(verb, owner);
      return { ...common, kind: "resume", owner: owner ?? undefined };
    }
  }
}

function readJobOperation(
  { caller, countFrom, newKey, refuseKey }: Command,
  { value, conditions }: Pick<Asked, "value" | "conditions">,
  acceptance: Acceptance,
): Operation {
  if (conditions.ifMatch !== undefined)
    throw notUnderstood([{ path: "ifMatch", message: "does not apply to a job: a job has no versions" }]);
  const { key, body, ifExists } = below("job", () =>
    readJob(value, { newKey: newKey ?? keyIsRequired, besides: acceptance.besides }),
  );
  refuseKey?.(key);
  below("job", () => acceptance.body(body, key));
  return { kind: "put", key, caller, body, ifExists, countFrom };
}

function keyIsRequired(): never {
  throw new Refusal("invalid", "The job is not understood.", [{ path: "key", message: "is required" }]);
}

function verbOf(input: unknown) {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw notUnderstood([{ path: "", message: `takes an object with one of ${verbs.join(", ")}` }]);
  const members: Partial<Record<string, unknown>> = { ...input };
  const verb = onlyVerb(members);
  if (verb === null)
    throw notUnderstood([{ path: "", message: `takes one of ${verbs.join(", ")}, and one alone` }]);
  const { [verb]: value, ...beside } = members;
  const shaped = conditionsShape.safeParse(beside, { reportInput: true });
  if (!shaped.success) throw notUnderstood(shapeFaults(shaped.error));
  if (shaped.data.ifNoneMatch !== undefined && verb !== "put")
    throw notUnderstood([{ path: "ifNoneMatch", message: "applies to `put` only" }]);
  return { verb, value, conditions: shaped.data };
}

/** The verb of an operation; null without one, and with several. */
function onlyVerb(input: object): Verb | null {
  const [verb = null, ...others] = verbs.filter((each) => Object.hasOwn(input, each));
  return others.length === 0 ? verb : null;
}

/**
 * The key that the verb of a command names, also if the command has other faults; null if there is
 * none. Other members are not looked at: a refused command is listed to the team of this key.
 */
export function keyIn(input: unknown): string | null {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const verb = onlyVerb(input);
  const value: unknown = verb === null ? undefined : Reflect.get(input, verb);
  const key: unknown = typeof value === "object" && value !== null ? Reflect.get(value, "key") : value;
  return typeof key === "string" ? key.slice(0, 255) : null;
}

/** The key of an operation. All verbs but `put` and `patch` may have just the key as their value. */
function keyOf(verb: Verb, value: unknown, { besides }: Acceptance): string {
  const isAlone = typeof value === "string" && verb !== "put" && verb !== "patch";
  const key: unknown = isAlone
    ? value
    : typeof value === "object" && value !== null
      ? Reflect.get(value, "key")
      : undefined;
  // Names the other faults of the body together with that of the key.
  if (verb === "put" && typeof value === "object")
    return below(verb, () => readNamedScheduleBody(value, besides).key);
  if (typeof key === "string") return below(verb, () => readKey(key));
  throw notUnderstood([{ path: `${verb}.key`, message: "is required" }]);
}

function readBeside<Shape>(verb: Verb, schema: z.ZodObject & z.ZodType<Shape>, value: unknown): Shape {
  const rest = typeof value === "string" ? {} : withoutKey(value);
  const shaped = schema.safeParse(rest, { reportInput: true });
  if (shaped.success) return shaped.data;
  throw notUnderstood(belowVerb(verb, shapeFaults(shaped.error)));
}

function withoutKey(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => name !== "key"));
}

/** Puts the verb in front of the paths of the faults. */
export function below<Read>(verb: string, read: () => Read): Read {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(error.kind, error.message, belowVerb(verb, error.faults));
  }
}

/** Faults within the parameters of a verb, with paths that begin at the operation. */
export function belowVerb(verb: string, faults: readonly Fault[]): Fault[] {
  return faults.map(({ path, message }) => ({ path: path === "" ? verb : `${verb}.${path}`, message }));
}

function notUnderstood(faults: readonly Fault[]): Refusal {
  return new Refusal("invalid", "The operation is not understood.", faults);
}

/**
 * An operation as it came in JSON, such as `{ "put": { "key": …, "when": … } }`; see
 * command-shape.ts.
 */
export interface Command {
  input: unknown;
  caller: Caller;
  /** The instant from which relative times count; the present if left out. */
  countFrom?: Date;
  /** Makes the key of a job that names none. If left out, such a job is refused. */
  newKey?: () => string;
  /** Refuses keys that the caller may not touch. */
  refuseKey?: (key: string) => void;
  /** Refuses owners of holds that the caller may not act for. */
  refuseOwner?: (verb: "pause" | "resume", owner: string) => void;
}
