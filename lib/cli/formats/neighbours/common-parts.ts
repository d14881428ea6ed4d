import { compiledCron } from "../../../cadence/cron/cron.ts";
import { parseWhen } from "../../../cadence/when/parse-when.ts";
import { canonicalTimezone } from "../../../cadence/zone/timezone.ts";
import type { JsonObject } from "../found.ts";
import type { Parts } from "../parts.ts";

/** The zone of a schedule: its own, else that of the option, else UTC with a difference. */
export function zonePart(named: string | null, byOption: string | undefined, ifNone: string): Parts {
  if (named === null || named === "")
    return {
      body: { timezone: byOption ?? "UTC" },
      differences: byOption === undefined ? [ifNone] : [],
      faults: [],
    };
  const timezone = canonicalTimezone(named);
  const fault = `its zone ${JSON.stringify(named)} is not the name of an IANA time zone`;
  return timezone === null
    ? { body: { timezone: "UTC" }, differences: [], faults: [fault] }
    : { body: { timezone }, differences: [], faults: [] };
}

interface ClockRule {
  /** The scheduler whose rule it is. */
  of: string;
  gap: "skip";
  overlap: "first" | "both";
}

/** `dst`, where clock changes concern the schedule and its scheduler has another rule for them. */
export function clockPart(whens: readonly string[], zone: JsonObject, rule: ClockRule): Partial<Parts> {
  if (zone["timezone"] === "UTC" || !whens.some(isFixedTime)) return {};
  const { of, gap, overlap } = rule;
  const times = overlap === "both" ? "twice" : "once";
  return {
    body: { dst: { gap, overlap } },
    differences: [
      `\`dst\` makes it behave as in ${of} at clock changes: a skipped time does not run, a repeated time runs ${times}; Carillon's default runs a skipped time after the gap and a repeated one once`,
    ],
  };
}

function isFixedTime(when: string): boolean {
  const parsed = parseWhen(when, { timezone: "UTC", now: 0, key: "" });
  return parsed.ok && parsed.cadence.kind === "cron" && compiledCron(parsed.cadence.expression).fixedTime;
}

/** A rule for runs that overlap, and what it counts as running at the target. */
export function overlapPart(overlap: "skip" | "queue", meaning: string, target: JsonObject): Partial<Parts> {
  const isHandedOver = "queue" in target || "event" in target;
  return {
    body: { overlap },
    differences: [
      meaning,
      ...(isHandedOver
        ? [
            "a job counts as running until it is delivered to the queue or bus, not until its receiver is done: a handler, webhook or Lambda function keeps `overlap`",
          ]
        : []),
    ],
  };
}

const attemptsMax = 100;

/** `retry` for a number of retries after the first attempt. */
export function retryPart(retries: number, waits: JsonObject = {}): Partial<Parts> {
  const attempts = Math.min(retries + 1, attemptsMax);
  return {
    body: { retry: { attempts, ...(attempts === 1 ? {} : waits) } },
    differences: attempts < retries + 1 ? [`it has at most ${attempts} attempts, not ${retries + 1}`] : [],
  };
}
