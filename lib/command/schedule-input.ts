import * as z from "zod";
import { Refusal } from "../refusal.ts";
import { type Besides, refusalsOf, together } from "../schedule/shape/faults-together.ts";
import { instantShape } from "../schedule/shape/instant-shape.ts";
import { jsonFaults } from "../schedule/shape/json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { keyFault, keyShape, lookFault } from "../schedule/shape/schedule-key.ts";
import {
  notUnderstood,
  parseScheduleBody,
  scheduleShape,
  withWhen,
} from "../schedule/shape/schedule-shape.ts";
import { memberPath } from "../schedule/shape/shape-faults.ts";
import { storableText } from "../schedule/shape/text.ts";
import { refusePatchShape } from "./schedule-patch-shape.ts";

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
export function readScheduleBody(input: unknown, keyInPath: string, besides?: Besides): ScheduleBody {
  const { key, rest } = takeKey(input);
  const message = key === undefined || key === keyInPath ? null : "is not the key in the path";
  return parsedWithKey(rest, message, besides);
}

/** Reads the body of a POST, which may contain the key. */
export function readKeyedScheduleBody(
  input: unknown,
  besides?: Besides,
): { key?: string; body: ScheduleBody } {
  const { key, rest } = takeKey(input);
  if (key === undefined) return { body: parsedWithKey(rest, null, besides) };
  if (typeof key !== "string") return { body: parsedWithKey(rest, "takes a string", besides) };
  return { key, body: parsedWithKey(rest, keyFault(key), besides) };
}

/** Reads the body of an operation, which has to contain its key. */
export function readNamedScheduleBody(input: unknown, besides: Besides): { key: string; body: ScheduleBody } {
  const { key, rest } = takeKey(input);
  if (typeof key === "string") return { key, body: parsedWithKey(rest, keyFault(key), besides) };
  const message = key === undefined ? "is required" : "takes a string";
  parsedWithKey(rest, message, besides);
  throw refusedKey(message);
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
  throw together([notUnderstood(faults), ...refusalsOf(() => refusePatchShape(rest))]);
}

function takeKey(input: unknown): { key: unknown; rest: unknown } {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    return { key: undefined, rest: input };
  const { key, ...rest }: { key?: unknown } = input;
  return { key, rest };
}

/** Names the fault of the key together with the faults of the body. */
function parsedWithKey(input: unknown, keyMessage: string | null, besides: Besides = () => []): ScheduleBody {
  if (keyMessage === null) return parseScheduleBody(input, besides);
  const inBody = refusalsOf(() => parseScheduleBody(input, besides));
  const others = inBody.length > 0 ? inBody : besides(input);
  throw withWhen([refusedKey(keyMessage), ...others], input);
}

const refusedKey = (message: string) => notUnderstood([{ path: "key", message }]);

/** The owner of a hold on a schedule. */
export const holderName = storableText({ max: 100 });

/** An owner to be shown on the board of holds. A hold of an owner that an earlier rule allowed can be ended. */
const newHolderName = holderName.superRefine((owner, context) => {
  const fault = lookFault(owner);
  if (fault !== null) context.addIssue({ code: "custom", message: fault });
});

export const pauseShape = z.strictObject({
  reason: storableText({ min: 0, max: 500 }).nullish(),
  until: instantShape.nullish(),
  owner: newHolderName.nullish(),
});

export const resumeShape = z.strictObject({ owner: holderName.nullish() });
