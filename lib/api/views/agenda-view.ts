import * as z from "zod";
import type { Agenda } from "../../agenda/agenda.ts";
import type { ScheduleCounts } from "../../agenda/by-schedule.ts";
import type { AgendaCounts } from "../../agenda/counts.ts";
import type { LastRuns } from "../../agenda/last-runs.ts";
import { ruleText } from "../../agenda/rule-text.ts";
import type { Strip } from "../../agenda/strip.ts";
import { wallText } from "../../cadence/zone/wall-text.ts";
import { jobKinds } from "../../job/job-id.ts";
import type { JobRead } from "../../job/read-job.ts";
import { cursorSchema } from "../request/query.ts";
import { outcomeSchema } from "./explanation-view.ts";
import { instantText } from "./instant-text.ts";
import { holdSchema } from "./schedule-view.ts";

const runFields = {
  outcome: outcomeSchema.describe("In the words of `/explain`."),
  reason: z.string().nullable(),
  job: z.string().nullable().describe("The id of its job; null while it has none."),
  latenessMs: z.number().nullable(),
  durationMs: z.number().nullable(),
};

const agendaItem = z
  .strictObject({
    occurrence: instantText.describe("The nominal instant, which never moves."),
    dueAt: instantText.nullable().describe("After `spread` and `slot`; null for a range."),
    wall: z.string().describe("`occurrence` on the clocks of `timezone`."),
    key: z.string(),
    scheduleId: z.string(),
    kind: z.enum(jobKinds),
    ...runFields,
    passedOver: z
      .strictObject({
        from: instantText,
        to: instantText,
        count: z.number().nullable().describe("Null where the number is not known."),
        more: z.boolean().describe("Counting stopped: there are more."),
      })
      .nullable()
      .describe(
        "Set for a range of occurrences without jobs, passed over or in the backlog; `occurrence` is its last one.",
      ),
    note: z
      .string()
      .nullable()
      .describe("For a coming occurrence that a calendar has moved to another day: from where."),
    heldBy: z
      .array(holdSchema)
      .optional()
      .describe(
        "For an occurrence with the outcome `held`: the holds that it is due under. Left out if they were released meanwhile.",
      ),
  })
  .meta({ id: "AgendaItem", description: "An occurrence of a schedule in a window." });

export const agendaAnswer = z.strictObject({
  asOf: instantText,
  timezone: z.string(),
  items: z.array(agendaItem),
  cursor: cursorSchema,
});

export const agendaCountsAnswer = z
  .strictObject({
    asOf: instantText,
    occurrences: z.number().describe("The sum over all cadences, listed or not."),
    leftOut: z.number().describe("How many of them are on days that a calendar skips: these do not run."),
    cadences: z.int().describe("How many cadences occur in the window."),
    items: z
      .array(
        z.strictObject({
          rule: z.string().describe("The name of the cadence, which the filter `rule` takes."),
          when: z.string().nullable().describe("The cadence; null for schedules that run once."),
          timezone: z.string().nullable(),
          calendar: z
            .strictObject({ name: z.string(), on: z.enum(["skip", "next", "previous"]) })
            .nullable()
            .describe("The calendar, and what happens on a day that it leaves out."),
          sample: z
            .string()
            .nullable()
            .describe("The key of one of the schedules; null where they are estimated."),
          schedules: z.number(),
          occurrences: z.number(),
          leftOut: z.number().describe("Those of them that its calendar skips."),
        }),
      )
      .describe("The up to 100 cadences with most runs, without those left out."),
    exact: z
      .boolean()
      .describe("False where a cadence has more than 20,000 schedules, which are then estimated."),
  })
  .meta({ id: "AgendaCounts", description: "The occurrences of a window by cadence." });

export const agendaSchedulesAnswer = z
  .strictObject({
    asOf: instantText,
    occurrences: z.number().describe("The sum over all schedules, listed or not."),
    schedules: z.int().describe("How many schedules have such an occurrence."),
    more: z.boolean().describe("Counting stopped: both numbers are at least so high."),
    items: z
      .array(
        z.strictObject({
          key: z.string(),
          scheduleId: z.string(),
          occurrences: z.number(),
          first: instantText.describe("Its first such occurrence in the window."),
          last: instantText,
          heldBy: z
            .array(holdSchema)
            .optional()
            .describe("With the outcome `held`: the holds that its first occurrence is due under."),
        }),
      )
      .describe("Up to 100 schedules, in the order of their first occurrences."),
  })
  .meta({ id: "AgendaSchedules", description: "The occurrences of a window with one outcome, by schedule." });

const deletedSchema = z
  .strictObject({ at: instantText, by: z.string() })
  .nullable()
  .describe("When the schedule was deleted, and by which token.");

export const stripAnswer = z
  .strictObject({
    key: z.string(),
    scheduleId: z.string(),
    createdAt: instantText,
    deleted: deletedSchema,
    items: z.array(
      z.strictObject({
        occurrence: instantText,
        dueAt: instantText.nullable(),
        wall: z.string().describe("On the clocks of the schedule's zone."),
        kind: z.enum(jobKinds),
        ...runFields,
        sentence: z.string().describe("The explanation in plain English."),
        note: z.string().nullable().describe("The effect of a clock change or a calendar on it."),
        version: z.int().nullable(),
      }),
    ),
    cursor: cursorSchema,
  })
  .meta({ id: "Strip", description: "The occurrences of one schedule in a window." });

export const lastRunsAnswer = z
  .strictObject({
    asOf: instantText,
    items: z.array(
      z.strictObject({
        key: z.string(),
        scheduleId: z.string().nullable().describe("Null if no schedule has or had the key."),
        deleted: deletedSchema,
        runs: z
          .array(z.strictObject({ occurrence: instantText, ...runFields }))
          .describe("The newest occurrences up to now, oldest first."),
      }),
    ),
  })
  .meta({ id: "LastRuns", description: "The last occurrences of many schedules." });

const runView = ({
  outcome,
  reason,
  job,
}: {
  outcome: string;
  reason: string | null;
  job: JobRead | null;
}) => ({
  outcome,
  reason: reason ?? null,
  job: job?.id ?? null,
  latenessMs: job?.latenessMs ?? null,
  durationMs: job?.durationMs ?? null,
});

export function agendaView({ asOf, items }: Agenda, timezone: string) {
  return {
    asOf,
    timezone,
    items: items.map(({ occurrence, dueAt, key, scheduleId, kind, passedOver, note, heldBy, ...run }) => ({
      occurrence,
      dueAt,
      wall: wallText(occurrence.getTime(), timezone),
      key,
      scheduleId,
      kind,
      ...runView(run),
      passedOver,
      note,
      heldBy,
    })),
  };
}

export function agendaCountsView({ asOf, occurrences, leftOut, cadences, items, exact }: AgendaCounts) {
  return {
    asOf,
    occurrences,
    leftOut,
    cadences,
    items: items.map(({ rule, ...item }) => ({ rule: ruleText(rule), ...item })),
    exact,
  };
}

export const agendaSchedulesView = ({ asOf, occurrences, schedules, more, items }: ScheduleCounts) => ({
  asOf,
  occurrences,
  schedules,
  more,
  items,
});

export function stripView(key: string, { scheduleId, createdAt, deleted, items }: Strip) {
  return {
    key,
    scheduleId,
    createdAt,
    deleted,
    items: items.map(({ at, dueAt, wall, outcome, reason, sentence, note, version, job: own, beside }) => {
      const job = own ?? beside[0] ?? null;
      const run = runView({ outcome, reason: reason ?? null, job });
      return { occurrence: at, dueAt, wall, kind: job?.kind ?? "cadence", ...run, sentence, note, version };
    }),
  };
}

export function lastRunsView({ asOf, items }: { asOf: Date; items: LastRuns[] }) {
  return {
    asOf,
    items: items.map(({ key, scheduleId, deleted, runs }) => ({
      key,
      scheduleId,
      deleted,
      runs: runs.map(({ occurrence, ...run }) => ({ occurrence, ...runView(run) })),
    })),
  };
}
