import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import type { AwsSchedule } from "./eventbridge-shapes.ts";
import type { Parts } from "./parts.ts";

type Timing = Pick<
  AwsSchedule,
  | "ScheduleExpression"
  | "ScheduleExpressionTimezone"
  | "StartDate"
  | "EndDate"
  | "CreationDate"
  | "FlexibleTimeWindow"
>;

/**
 * The fields of a schedule's times. Carillon reads the expressions as AWS does, so they are not
 * rewritten.
 */
export function whenParts(timing: Timing): Parts {
  const when = timing.ScheduleExpression ?? "";
  const timezone = timing.ScheduleExpressionTimezone ?? "UTC";
  const [kind = ""] = /^(cron|rate|at)(?=\()/.exec(when) ?? [];
  const own = kind === "rate" ? rateParts(timing) : kind === "at" ? atParts(timing) : cronParts(timing);
  const { Mode = null, MaximumWindowInMinutes: minutes = null } = timing.FlexibleTimeWindow ?? {};
  const spread = Mode === "FLEXIBLE" && minutes !== null;
  return {
    body: { when, timezone, ...own.body, ...(spread ? { spread: `${minutes}m` } : {}) },
    differences: [
      ...own.differences,
      ...(spread
        ? [
            `FlexibleTimeWindow: AWS picks any moment of ${minutes} minutes; \`spread\` moves it by a fixed part derived from the key`,
          ]
        : []),
      "AWS starts it within a minute of its time; Carillon within a second, and at most one job for each time",
    ],
    faults: [
      ...(kind === "" ? [`its expression ${JSON.stringify(when)} is not cron(…), rate(…) or at(…)`] : []),
      ...(canonicalTimezone(timezone) === null
        ? [`its zone ${JSON.stringify(timezone)} is not the name of an IANA time zone`]
        : []),
    ],
  };
}

function cronParts(timing: Timing): Omit<Parts, "faults"> {
  const { ScheduleExpression: when = "", ScheduleExpressionTimezone: timezone = "UTC" } = timing;
  const [, weekday = ""] = /^cron\((?:\S+\s+){4}(\S+)\s/.exec(when ?? "") ?? [];
  const followsClocks = canonicalTimezone(timezone ?? "UTC") !== "UTC";
  return {
    body: { ...windowOf(timing), ...(followsClocks ? { dst: { gap: "skip", overlap: "first" } } : {}) },
    differences: [
      ...(followsClocks
        ? [
            "`dst` makes it behave as on AWS at clock changes: a skipped time does not run, a repeated time runs once; Carillon's default runs a skipped time after the gap",
          ]
        : []),
      ...(/(^|[,-])\d/.test(weekday)
        ? ["days of the week count from 1 = Sunday within cron(…), as on AWS; in five fields Sunday is 0"]
        : []),
    ],
  };
}

/** The phase of a rate counts from its start. */
function rateParts(timing: Timing): Omit<Parts, "faults"> {
  const { StartDate = null, CreationDate = null } = timing;
  const startsAt = StartDate ?? CreationDate;
  if (StartDate !== null) return { body: windowOf(timing), differences: [] };
  return {
    body: { ...windowOf(timing), ...(startsAt === null ? {} : { startsAt }) },
    differences: [
      startsAt === null
        ? "it counts from its creation in Carillon, on AWS from its creation there"
        : "it counts from its CreationDate, which `startsAt` holds: AWS counts from when it was created or last changed, by some seconds",
    ],
  };
}

function atParts({ StartDate = null, EndDate = null }: Timing): Omit<Parts, "faults"> {
  const had = StartDate !== null || EndDate !== null;
  return {
    body: {},
    differences: had ? ["StartDate and EndDate do not apply to at(…), and are left out"] : [],
  };
}

function windowOf({ StartDate = null, EndDate = null }: Timing): { [name: string]: string } {
  return {
    ...(StartDate === null ? {} : { startsAt: StartDate }),
    ...(EndDate === null ? {} : { endsAt: EndDate }),
  };
}
