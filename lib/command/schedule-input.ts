import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { instantShape } from "../schedule/shape/instant-shape.ts";
import { jsonFaults } from "../schedule/shape/json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { keyFault, keyShape } from "../schedule/shape/schedule-key.ts";
import { parseScheduleBody, scheduleShape } from "../schedule/shape/schedule-shape.ts";
import { memberPath } from "../schedule/shape/shape-faults.ts";
import { storableText } from "../schedule/shape/text.ts";

/** A schedule's body with its key, as a caller sends it. */
export const keyedScheduleShape = z
  .strictObject({ key: keyShape.optional(), ...scheduleShape.shape })
  .meta({ id: "ScheduleInput", description: "A schedule as a caller sends it. Unknown fields are errors." });

/** Reads the key in the path; refuses one that no schedule can have. */
export function readKey(key: string): string {
  const message = keyFault(key);
  if (message === null) return key;
  throw new Refusal("invalid", "The key is not understood.", [{ path: "key", message }]);
}

/** Reads the body of a schedule with a known key. The body may repeat that key. */
export function readScheduleBody(input: unknown, keyInPath: string): ScheduleBody {
  const { key, rest } = takeKey(input);
  return parsedBesides(rest, key === undefined || key === keyInPath ? null : "is not the key in the path");
}

/** Reads the body of a POST, which may contain the key. */
export function readKeyedScheduleBody(input: unknown): { key?: string; body: ScheduleBody } {
  const { key, rest } = takeKey(input);
  if (key === undefined) return { body: parsedBesides(rest, null) };
  if (typeof key !== "string") return { body: parsedBesides(rest, "takes a string") };
  return { key, body: parsedBesides(rest, keyFault(key)) };
}

/** Checks and returns a patch, which may repeat the key of the path but not change it. */
export function readSchedulePatch(input: unknown, keyInPath: string): unknown {
  const { key, rest } = takeKey(input);
  // A patch may be kept as JSON until the schedule that it changes exists, so it must be storable.
  const faults = jsonFaults(rest).map(({ path, message }) => ({
    path: path.reduce(memberPath, ""),
    message,
  }));
  if (key !== undefined && key !== keyInPath) faults.unshift({ path: "key", message: "cannot be changed" });
  if (faults.length === 0) return rest;
  throw new Refusal("invalid", "The schedule is not understood.", faults);
}

function takeKey(input: unknown): { key: unknown; rest: unknown } {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return { key: undefined, rest: input };
  const { key, ...rest }: { key?: unknown } = input;
  return { key, rest };
}

/** Names the fault of the key together with the faults of the body. */
function parsedBesides(input: unknown, keyMessage: string | null): ScheduleBody {
  if (keyMessage === null) return parseScheduleBody(input);
  const faults = [{ path: "key", message: keyMessage }];
  try {
    parseScheduleBody(input);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.kind === "invalid") faults.push(...error.faults);
  }
  throw new Refusal("invalid", "The schedule is not understood.", faults);
}

/** The owner of a hold on a schedule. */
export const holderName = storableText({ max: 100 });

export const pauseShape = z.strictObject({
  reason: storableText({ min: 0, max: 500 }).nullish(),
  until: instantShape.nullish(),
  owner: holderName.nullish(),
});

export const resumeShape = z.strictObject({ owner: holderName.nullish() });
