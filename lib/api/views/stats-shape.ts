import * as z from "zod";

const number = z.int().min(0);
const instant = z.iso.datetime();

const amount = z
  .strictObject({ count: number, more: z.boolean() })
  .describe("`more` is true where counting stopped at the limit.");

const ms = z.int().min(0).nullable();

export const latenessShape = z
  .strictObject({ jobs: number, p50Ms: ms, p95Ms: ms, p99Ms: ms, maxMs: ms })
  .describe(
    "The lateness of first attempts of jobs settled in this period, to within 5 %. Jobs of the backlog are excluded.",
  );

const pulses = z
  .strictObject({ taken: number, lost: number, p50Ms: ms, p95Ms: ms, p99Ms: ms, maxMs: ms })
  .describe(
    "Pulses, which have no jobs. `taken`: accepted by their targets, with their lateness. `lost`: given up after six attempts, or at once where a retry cannot help. Seconds that were passed over with all of their pulses are not counted.",
  );

const counts = z.strictObject({
  from: instant.describe("The full minute at which counting starts."),
  fired: number.describe(
    "Jobs made, up to three minutes before they are due, minus jobs that an edit withdrew.",
  ),
  succeeded: number,
  failed: number.describe("Failed attempts."),
  dead: number,
  cancelled: number,
  skipped: number.describe(
    "Occurrences skipped for a reason other than `missed`: skipped jobs, and every occurrence of a skipped range.",
  ),
  missed: number,
  lateness: latenessShape,
  pulses: pulses.nullable(),
});

export const freshness = z
  .strictObject({
    rolledUpAt: instant.nullable().describe("When a tick last rolled up counts."),
    pending: amount.describe(
      "Rows that are not rolled up yet. They are counted too, up to 100,000: with `more`, the last minutes have more than is counted.",
    ),
  })
  .describe("How fresh the rolled-up counts are.");

export const statsAnswer = z.strictObject({
  asOf: instant.describe("The time of counting: all counts reach up to it."),
  prefix: z.string().nullable().describe("The prefix that is counted; null for all schedules."),
  minutesOf: z
    .enum(["settled", "occurrence"])
    .describe(
      "The minute in which a job counts: that in which it was settled, or with a prefix that of its occurrence.",
    ),
  freshness: freshness
    .nullable()
    .describe("Null with a prefix: its counts are read from the ledger, which is always up to date."),
  schedules: z
    .strictObject({
      total: number,
      active: number.describe("Neither paused nor ended."),
      paused: number,
      ended: number.describe("Ended and still stored."),
      endedWithin: number.describe(
        "Beyond 1,000 schedules `ended` is an estimate from a sample: this close in 19 of 20 cases. 0: exact.",
      ),
      more: z
        .boolean()
        .describe("True if a prefix has more than 100,000 schedules: only the first ones are counted."),
    })
    .describe("`total` and `paused` are counted, `active` is the rest of them and `ended`."),
  jobs: z.strictObject({
    waiting: number.describe("Jobs that are neither settled nor running."),
    due: number.describe("Waiting jobs that are due."),
    ahead: number.describe("Waiting jobs that are made, up to three minutes before they are due."),
    held: number.describe("Waiting jobs under a hold."),
    running: number,
    retrying: number.describe("Waiting jobs with at least one attempt. Estimated beyond 10,000."),
    backlog: amount.describe("Occurrences of catch-up and backfills that wait to become jobs."),
    dead: amount.describe(
      "Dead jobs that are neither retried nor past the retention. With a prefix, among the newest 10,000 of all.",
    ),
    more: z
      .boolean()
      .describe("With a prefix: only the first 20,000 open jobs of all prefixes were looked at."),
  }),
  oldestDue: z
    .strictObject({ readyAt: instant, lateMs: number })
    .nullable()
    .describe("The job that may start and has waited longest."),
  parcels: amount.nullable().describe("Null with a prefix."),
  quarantine: z
    .strictObject({
      count: number,
      more: z.boolean(),
      oldestAt: instant.nullable().describe("When the oldest counted row was set aside."),
    })
    .nullable()
    .describe(
      "Rows on which a part of Carillon failed and which it retries; `GET /v1/quarantine` lists them. Null with a prefix.",
    ),
  plan: z.strictObject({
    to: instant.describe("The plan of every shard has become jobs up to this instant."),
    lagMs: number,
    lastTickAt: instant.nullable(),
  }),
  lastMinutes: counts
    .nullable()
    .describe(
      "The last five full minutes and the running one. With a prefix, `from` is later if there are more jobs than one answer reads; null if one minute has.",
    ),
  lastHour: counts.nullable().describe("Null like `lastMinutes`."),
  lastDay: counts.nullable().describe("Null with a prefix: `GET /v1/series` reads a day in pages."),
});

const exampleCounts = {
  from: "2026-12-01T08:00:00.000Z",
  fired: 61_204,
  succeeded: 61_180,
  failed: 12,
  dead: 1,
  cancelled: 0,
  skipped: 3,
  missed: 0,
  lateness: { jobs: 61_181, p50Ms: 97, p95Ms: 292, p99Ms: 518, maxMs: 1_211 },
  pulses: { taken: 288_000, lost: 0, p50Ms: 37, p95Ms: 108, p99Ms: 212, maxMs: 640 },
};

export const statsExample: z.input<typeof statsAnswer> = {
  asOf: "2026-12-01T09:00:12.345Z",
  prefix: null,
  minutesOf: "settled",
  freshness: { rolledUpAt: "2026-12-01T09:00:02.120Z", pending: { count: 41, more: false } },
  schedules: { total: 120_000, active: 95_950, paused: 50, ended: 24_000, endedWithin: 3_036, more: false },
  jobs: {
    waiting: 2_950,
    due: 120,
    ahead: 2_700,
    held: 4,
    running: 250,
    retrying: 8,
    backlog: { count: 0, more: false },
    dead: { count: 17, more: false },
    more: false,
  },
  oldestDue: { readyAt: "2026-12-01T09:00:12.000Z", lateMs: 345 },
  parcels: { count: 96, more: false },
  quarantine: { count: 0, more: false, oldestAt: null },
  plan: { to: "2026-12-01T09:03:01.000Z", lagMs: 0, lastTickAt: "2026-12-01T09:00:02.120Z" },
  lastMinutes: { ...exampleCounts, from: "2026-12-01T08:55:00.000Z", fired: 5_100, succeeded: 5_098 },
  lastHour: exampleCounts,
  lastDay: { ...exampleCounts, from: "2026-11-30T09:00:00.000Z" },
};
