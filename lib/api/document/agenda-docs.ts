import type * as z from "zod";
import type { RouteDoc } from "../request/route-doc.ts";
import {
  agendaAnswer,
  agendaCountsAnswer,
  agendaSchedulesAnswer,
  lastRunsAnswer,
  stripAnswer,
} from "../views/agenda-view.ts";
import { examples } from "./openapi-examples.ts";

const { key, id: scheduleId, createdAt } = examples.listedSchedule;

const run = {
  outcome: "ran",
  reason: null,
  job: examples.listedJob.id,
  latenessMs: 210,
  durationMs: 30,
} as const;

const occurrence = "2026-12-01T09:00:00.000Z";

export const agendaDocs = {
  list: {
    summary: "List all occurrences of a window",
    description:
      "Oldest first: past ones as the ledger has them, coming ones as the cadences of live schedules give them. A window is at most 32 days long. A page reads at most 10,000 jobs, 10,000 ranges of each kind and about 10,000 schedules; it may be short or empty and still have a `cursor`. With `outcome`, items of other outcomes count for these bounds: each is judged before it is left out. Without a filter, or with one that more than 5,000 schedules match, there may be at most 20,000 different cadences and 20,000 different intervals, for a prefix within its team: 422 otherwise. Pulses leave no record, so past ones are not listed.",
    tag: "Insight",
    answers: {
      200: {
        what: "The occurrences.",
        schema: agendaAnswer,
        example: {
          asOf: "2026-12-01T09:00:12.345Z",
          timezone: "Europe/Berlin",
          items: [
            {
              occurrence,
              dueAt: occurrence,
              wall: "2026-12-01T10:00:00+01:00",
              key,
              scheduleId,
              kind: "cadence",
              ...run,
              passedOver: null,
              note: null,
            },
          ],
          cursor: examples.cursor,
        },
      },
    },
    problems: [422],
  },
  count: {
    summary: "Count the occurrences of a window by cadence",
    operation: "countOccurrences",
    description:
      "Nominal occurrences of live schedules; `leftOut` of them are on days that a calendar skips. `startsAt`, `endsAt`, `maxFires` and holds are not looked at. `rule` of each item is the filter for its occurrences alone. At most 2,000,000 schedules are counted, and 20,000 of one cadence; beyond that `exact` is false.",
    tag: "Insight",
    answers: {
      200: {
        what: "The counts.",
        schema: agendaCountsAnswer,
        example: {
          asOf: "2026-12-01T08:59:12.345Z",
          occurrences: 38_000,
          leftOut: 0,
          cadences: 1,
          items: [
            {
              rule: "cadence-7",
              when: "0 9 * * *",
              timezone: "Europe/Berlin",
              calendar: { name: "holidays", on: "skip" },
              sample: "report:1",
              schedules: 38_000,
              occurrences: 38_000,
              leftOut: 0,
            },
          ],
          exact: false,
        },
      },
    },
    problems: [422],
  },
  schedules: {
    summary: "Count the occurrences of a window that have one outcome, by schedule",
    operation: "countOccurrencesBySchedule",
    description:
      "The items that the list has with this `outcome`, counted, such as the `held` ones, with their schedules. Up to 10 pages of 400 items are read; beyond that `more` is true. The limits of the list apply.",
    tag: "Insight",
    answers: {
      200: {
        what: "The counts, and the schedules.",
        schema: agendaSchedulesAnswer,
        example: {
          asOf: "2026-12-01T08:59:12.345Z",
          occurrences: 54,
          schedules: 14,
          more: false,
          items: [
            {
              key,
              scheduleId,
              occurrences: 4,
              first: occurrence,
              last: "2026-12-01T09:45:00.000Z",
              heldBy: [
                { owner: "night-shift", reason: "waits for the new index", since: createdAt, until: null },
              ],
            },
          ],
        },
      },
    },
    problems: [422],
  },
  strip: {
    summary: "List a schedule's occurrences in a window, each explained",
    description:
      "Oldest first, also of a deleted key: of the schedule that had it at `to`, or had it last. Without `to` up to now, without `from` from 24 hours before `to`. A window is at most 32 days long. Jobs of other kinds are listed at their instants. A page may be short and still have a `cursor`.",
    tag: "Time",
    answers: {
      200: {
        what: "The occurrences.",
        schema: stripAnswer,
        example: {
          key,
          scheduleId,
          createdAt,
          deleted: null,
          items: [
            {
              occurrence,
              dueAt: occurrence,
              wall: "2026-12-01T10:00:00+01:00",
              kind: "cadence",
              ...run,
              sentence:
                "Ran, on time: due at 2026-12-01T09:00:00Z, it started at 2026-12-01T09:00:00.210Z and succeeded at 2026-12-01T09:00:00.240Z.",
              note: null,
              version: 1,
            },
          ],
        },
      },
    },
    problems: [404],
  },
} as const satisfies Record<string, RouteDoc>;

/** The body is passed in because its shape belongs to the routes. */
export function lastRunsDoc(body: z.ZodType): RouteDoc {
  return {
    summary: "Read the last occurrences of many schedules",
    operation: "lastOccurrences",
    description:
      "Of up to 100 keys the up to 20 newest occurrences that are not later than now, also of deleted schedules. Only occurrences of the cadence, of the last 20 versions.",
    tag: "Time",
    body: { schema: body, example: { keys: [key], n: 20 } },
    answers: {
      200: {
        what: "The occurrences, in the order of the keys.",
        schema: lastRunsAnswer,
        example: {
          asOf: "2026-12-01T09:00:12.345Z",
          items: [{ key, scheduleId, deleted: null, runs: [{ occurrence, ...run }] }],
        },
      },
    },
  };
}
