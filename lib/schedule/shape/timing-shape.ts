import * as z from "zod";
import { durationMs } from "../../cadence/duration.ts";
import { parseWhen, type WhenFault } from "../../cadence/when/parse-when.ts";
import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import { instantShape } from "./instant-shape.ts";
import { keyShape } from "./schedule-key.ts";
import { storableText } from "./text.ts";

export const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;

/** A list of cadences may name so many. */
export const whensMax = 20;

const oneWhen = storableText({ max: 256 });

export const whenShape = z
  .union([oneWhen, z.array(oneWhen).min(1).max(whensMax)], {
    error: `takes a text such as \`0 9 * * 1-5\`, \`every 5m\` or \`in 3h\`, or a list of up to ${whensMax} of them`,
  })
  .meta({
    id: "When",
    description: `When it runs: once (\`at …\`, \`in 3h\`), at an interval (\`every 5m\`), by a cron expression, or a list of up to ${whensMax} of these.`,
  });

export function durationShape({ minMs, maxMs, range }: { minMs: number; maxMs: number; range: string }) {
  return z
    .string()
    .refine((text) => {
      const ms = durationMs(text);
      return ms !== null && ms >= minMs && ms <= maxMs;
    }, `takes a duration such as \`30s\` or \`1h30m\`, ${range}`)
    .meta({
      description: `A duration such as \`30s\`, \`1h30m\` or \`PT5M\`, ${range}.`,
      pattern: "^([0-9]+[a-z]{1,2})+$|^P[0-9A-Z.]+$",
    });
}

/** Kept as text, in one spelling: a body is compared with what is asked for next. */
const storedInstant = instantShape.transform((instant) => instant.toISOString());

const firesMax = 1_000_000_000;

/** What says when a schedule runs, beside its `when` and its zone. */
export const timingShapes = {
  startsAt: storedInstant.nullable().default(null).describe("Nothing occurs before this instant."),
  endsAt: storedInstant.nullable().default(null).describe("Nothing occurs at or after this instant."),
  maxFires: z
    .int()
    .min(1)
    .max(firesMax)
    .nullable()
    .default(null)
    .describe("After so many jobs of the cadence the schedule has ended."),
  calendar: z
    .strictObject({ name: keyShape, on: z.enum(["skip", "next", "previous"]).default("skip") })
    .nullable()
    .default(null)
    .describe("A calendar of days off, and what becomes of an occurrence on one: it is left out, or moved."),
  catchUp: z
    .strictObject({
      policy: z.enum(["latest", "all", "skip"]).default("latest"),
      within: durationShape({ minMs: 1_000, maxMs: 366 * dayMs, range: "from 1s to 366d" })
        .nullable()
        .default(null),
      limit: z.int().min(1).max(10_000).default(100),
    })
    .prefault({})
    .describe("What becomes of occurrences that were missed: the latest of them runs, all do, or none."),
  deadline: durationShape({ minMs: 1_000, maxMs: 30 * dayMs, range: "from 1s to 30d" })
    .nullable()
    .default(null),
  overlap: z
    .enum(["allow", "skip", "queue"])
    .default("allow")
    .describe("What a job does while an earlier one of the schedule is not settled."),
  spread: durationShape({ minMs: 0, maxMs: dayMs, range: "up to 24h" })
    .optional()
    .describe(
      "Due is moved by a fixed part of it that the key tells. `0s` where it is left out; of a pulse its interval, up to `1m`.",
    ),
  slot: durationShape({ minMs: 1_000, maxMs: dayMs, range: "from 1s to 24h" }).nullable().default(null),
  dst: z
    .strictObject({
      gap: z.enum(["next", "skip"]).optional(),
      overlap: z.enum(["first", "last", "both"]).optional(),
    })
    .nullable()
    .default(null)
    .describe("Another rule for times that a clock change leaves out or repeats."),
};

/** What each field allows for itself and does not make sense together. */
export function refuseContradictions({
  startsAt,
  endsAt,
  spread,
  slot,
}: {
  startsAt: string | null;
  endsAt: string | null;
  spread: string;
  slot: string | null;
}): void {
  const faults: Fault[] = [];
  if (startsAt !== null && endsAt !== null && startsAt >= endsAt)
    faults.push({ path: "endsAt", message: "lies before or at `startsAt`: nothing could ever run" });
  if (slot !== null && (durationMs(spread) ?? 0) + (durationMs(slot) ?? 0) > dayMs)
    faults.push({ path: "slot", message: "and `spread` together move a run by more than 24h" });
  if (faults.length > 0) throw new Refusal("invalid", "The schedule is not understood.", faults);
}

/** Beside other faults, what is wrong with the `when` is named too; alone it is refused when its cadence is resolved. */
export function whenFaults(input: unknown): Fault[] {
  if (typeof input !== "object" || input === null || !("when" in input)) return [];
  const when = whenShape.safeParse(input.when);
  if (!when.success) return [];
  const named =
    "timezone" in input && typeof input.timezone === "string" ? canonicalTimezone(input.timezone) : null;
  const parsed = parseWhen(when.data, { timezone: named ?? "UTC", now: 0, key: "" });
  return parsed.ok || parsed.kind !== "invalid" ? [] : [whenFault(parsed)];
}

/** The fault of a `when`, with its position (from 0) in the text. */
export function whenFault({ message, position, index }: WhenFault): Fault {
  const path = index === undefined ? "when" : `when[${index}]`;
  return { path, message: `${message} (at position ${position})` };
}
