import * as z from "zod";
import { cursorSchema } from "../request/query.ts";
import { freshness, latenessShape } from "./stats-shape.ts";

const number = z.int().min(0);
const instant = z.iso.datetime();

const seriesStep = z.strictObject({
  at: instant.describe("The start of the step."),
  over: z.boolean().describe("False for the step that was still running at `asOf`."),
  made: number.describe(
    "Jobs made, up to three minutes before they are due. By settling: less those that an edit withdrew.",
  ),
  succeeded: number,
  failed: number.describe("Failed attempts."),
  retried: number.describe("Failed attempts that another one follows: `failed` minus `dead`."),
  dead: number,
  cancelled: number,
  skipped: number.describe("Occurrences skipped for a reason other than `missed`."),
  missed: number,
  open: number.nullable().describe("By occurrence: jobs that are not settled yet."),
  perMinute: z.number().min(0).describe("Throughput: attempts that succeeded or failed, per minute."),
  lateness: latenessShape,
  pulses: z
    .strictObject({ taken: number, lost: number })
    .nullable()
    .describe(
      "By settling: pulses taken by their targets, and given up. By occurrence null: they have no rows.",
    ),
});

export const seriesAnswer = z.strictObject({
  asOf: instant.describe("The time of counting: all counts reach up to it."),
  minutesOf: z
    .enum(["settled", "occurrence"])
    .describe(
      "The step in which a job counts: that in which it was settled, or with a filter that of its occurrence. A range of occurrences that was passed over counts when it was noted, or with a filter in the step of its last occurrence.",
    ),
  step: z.enum(["1m", "5m", "15m", "1h"]),
  freshness: freshness.nullable().describe("Null with a filter: the ledger is always up to date."),
  items: z.array(seriesStep).describe("Newest first; steps without jobs are there too."),
  cursor: cursorSchema,
});

export const seriesExample: z.input<typeof seriesAnswer> = {
  asOf: "2026-12-01T09:01:12.345Z",
  minutesOf: "settled",
  step: "1m",
  freshness: { rolledUpAt: "2026-12-01T09:01:02.120Z", pending: { count: 41, more: false } },
  items: [
    {
      at: "2026-12-01T09:00:00.000Z",
      over: true,
      made: 1_020,
      succeeded: 1_011,
      failed: 4,
      retried: 3,
      dead: 1,
      cancelled: 0,
      skipped: 0,
      missed: 0,
      open: null,
      perMinute: 1_015,
      lateness: { jobs: 1_012, p50Ms: 97, p95Ms: 292, p99Ms: 518, maxMs: 1_211 },
      pulses: { taken: 4_800, lost: 0 },
    },
  ],
  cursor: "WyJzZXJpZXMiLCJzSzFYUTh4Yi8xNzk2MTEyMDAwMDAwLjE3OTYxMTU2MDAwMDAiXQ",
};
