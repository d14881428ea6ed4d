import * as z from "zod";
import { pauseShape, resumeShape } from "../../command/schedule-input.ts";
import { manyPatchShape } from "../../command/schedule-patch-shape.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { backward, failingText, filterFields, isForward } from "./schedule-query.ts";

const filterShape = z
  .strictObject({
    ...filterFields,
    failing: z.literal(true, { error: "takes `true`" }).optional().describe(failingText),
  })
  .refine(isForward, backward)
  .prefault({})
  .describe("The schedules, as `GET /v1/schedules` selects them. All fields must match.");

const keysMax = 500;

const selecting = {
  filter: filterShape,
  keys: z
    .array(keyShape)
    .min(1)
    .max(keysMax)
    .optional()
    .describe(`Instead of a filter: the schedules with these keys, up to ${keysMax}.`),
  all: z
    .literal(true, { error: "takes `true`" })
    .optional()
    .describe("Required with an empty filter, and only then: every schedule that the token reaches."),
  dryRun: z
    .boolean()
    .default(false)
    .describe("Change nothing: answer the number of matching schedules and the first of them."),
};

const { reason } = pauseShape.shape;

interface Selecting {
  filter: object;
  keys?: readonly string[] | undefined;
  all?: true | undefined;
}

const isEmpty = (filter: object) => Object.values(filter).every((value) => value === undefined);

/** An empty filter by mistake must not change every schedule. */
const namesSome = ({ filter, keys, all }: Selecting) =>
  !isEmpty(filter) || keys !== undefined || all === true;
const namesNone = ({ filter, keys, all }: Selecting) =>
  (isEmpty(filter) && keys === undefined) || all === undefined;
const namesOnce = ({ filter, keys }: Selecting) => isEmpty(filter) || keys === undefined;
const tooWide = {
  path: ["filter"],
  error: "is empty: name at least one field, or give `keys`, or set `all` to `true`",
};
const both = { path: ["all"], error: "is only for an empty filter without `keys`" };
const twice = { path: ["keys"], error: "is only for an empty filter" };

/** Fields of a patch that move a schedule in the order by next occurrence. */
const movingFields = ["when", "timezone", "startsAt", "endsAt", "calendar", "spread", "slot", "dst"];

const isByTime = ({ nextFrom, nextTo }: { nextFrom?: unknown; nextTo?: unknown }) =>
  nextFrom !== undefined || nextTo !== undefined;

const moves = { path: ["patch"], error: "may not change when a schedule runs, with `nextFrom` or `nextTo`" };
const neverHeld = { path: ["filter"], error: "selects no paused schedule: these have no next run" };

export const pauseManyShape = z
  .strictObject({ ...selecting, ...pauseShape.shape })
  .refine(namesSome, tooWide)
  .refine(namesNone, both)
  .refine(namesOnce, twice);

export const resumeManyShape = z
  .strictObject({ ...selecting, ...resumeShape.shape, reason })
  .refine(namesSome, tooWide)
  .refine(namesNone, both)
  .refine(namesOnce, twice)
  .refine(({ filter }) => !isByTime(filter), neverHeld);

export const deleteManyShape = z
  .strictObject({ ...selecting, reason })
  .refine(namesSome, tooWide)
  .refine(namesNone, both)
  .refine(namesOnce, twice);

export const patchManyShape = z
  .strictObject({
    ...selecting,
    reason,
    patch: manyPatchShape,
  })
  .refine(namesSome, tooWide)
  .refine(namesNone, both)
  .refine(namesOnce, twice)
  .refine(
    ({ filter, patch }) => !isByTime(filter) || !movingFields.some((name) => Object.hasOwn(patch, name)),
    moves,
  );
