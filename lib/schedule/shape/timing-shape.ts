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

/** The largest number of cadences in a list. */
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

/** Stored as text in one spelling, because bodies are compared. */
const storedInstant = instantShape.transform((instant) => instant.toISOString());

const firesMax = 1_000_000_000;

/** The fields that determine when a schedule runs, besides its `when` and its zone. */
export const timingShapes = {
  startsAt: storedInstant.nullable().default(null).describe("Nothing occurs before this instant."),
  endsAt: storedInstant.nullable().default(null).describe("Nothing occurs at or after this instant."),
  maxFires: z
    .int()
    .min(1)
    .max(firesMax)
    .nullable()
    .default(null)
    .describe("The number of jobs of the cadence after which the schedule ends."),
  calendar: z
    .strictObject({ name: keyShape, on: z.enum(["skip", "next", "previous"]).default("skip") })
    .nullable()
    .default(null)
    .describe(
      "A calendar of days off. `on` says whether an occurrence on such a day is skipped, or moved to the next or previous allowed day.",
    ),
  catchUp: z
    .strictObject({
      policy: z.enum(["latest", "all", "skip"]).default("latest"),
      within: durationShape({ minMs: 1_000, maxMs: 366 * dayMs, range: "from 1s to 366d" })
        .nullable()
        .default(null),
      limit: z.int().min(1).max(10_000).default(100),
    })
    .prefault({})
    .describe("Which missed occurrences still run: only the latest, all, or none."),
  deadline: durationShape({ minMs: 1_000, maxMs: 30 * dayMs, range: "from 1s to 30d" })
    .nullable()
    .default(null),
  overlap: z
    .enum(["allow", "skip", "queue"])
    .default("allow")
    .describe(
      "The rule for a job that is ready while an earlier job of the schedule is not settled: it runs beside it, is skipped, or waits.",
    ),
  spread: durationShape({ minMs: 0, maxMs: dayMs, range: "up to 24h" })
    .optional()
    .describe(
      "Moves the due time by a fixed part of this duration, which depends on the key. The default is `0s`; for a pulse, its interval, up to `1m`.",
    ),
  slot: durationShape({ minMs: 1_000, maxMs: dayMs, range: "from 1s to 24h" }).nullable().default(null),
  dst: z
    .strictObject({
      gap: z.enum(["next", "skip"]).optional(),
      overlap: z.enum(["first", "last", "both"]).optional(),
    })
    .nullable()
    .default(null)
    .describe("Another rule for times that a clock change skips or repeats."),
};

interface Bounds {
  startsAt: string | null;
  endsAt: string | null;
  spread: string | null;
  slot: string | null;
}

/** Refuses fields that are valid alone but contradict each other. */
export function refuseContradictions(bounds: Bounds): void {
  const faults = contradictions(bounds);
  if (faults.length > 0) throw new Refusal("invalid", "The schedule is not understood.", faults);
}

export function contradictions({ startsAt, endsAt, spread, slot }: Bounds): Fault[] {
  const faults: Fault[] = [];
  if (startsAt !== null && endsAt !== null && startsAt >= endsAt)
    faults.push({ path: "endsAt", message: "is not after `startsAt`: nothing could ever run" });
  if (slot !== null && (durationMs(spread ?? "0s") ?? 0) + (durationMs(slot) ?? 0) > dayMs)
    faults.push({ path: "slot", message: "and `spread` together move a run by more than 24h" });
  return faults;
}

/**
 * The faults of the `when`, to be listed beside other faults. A fault in the `when` alone is found
 * when its cadence is resolved.
 */
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
export function whenFault(fault: WhenFault): Fault {
  const { index } = fault;
  return { path: index === undefined ? "when" : `when[${index}]`, message: whenFaultText(fault) };
}

export function whenFaultText({ message, position }: WhenFault): string {
  return `${message} (at position ${position})`;
}
