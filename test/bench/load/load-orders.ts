import * as z from "zod";

/** The generator's order and its report; the generator is a process of its own. */
export const loadOrder = z.object({
  api: z.url(),
  sqs: z.url(),
  token: z.string(),
  /** Milliseconds since 1970, as everywhere here. */
  from: z.number(),
  to: z.number(),
  sliceMs: z.number(),
  rates: z.object({
    /** Schedules created a few seconds before they are due. */
    soon: z.number(),
    creates: z.number(),
    edits: z.number(),
    deletes: z.number(),
    reads: z.number(),
  }),
  /** The number of existing schedules with keys `<prefix>:<n>` that are read and edited. */
  standing: z.object({ prefix: z.string(), count: z.number() }),
  /** Targets of the created schedules, in turn. */
  targets: z.array(z.record(z.string(), z.string())),
  /** Queues to empty meanwhile, as receivers would. */
  queues: z.array(z.string()),
});
export type LoadOrder = z.infer<typeof loadOrder>;

export const loadSlice = z.object({
  at: z.number(),
  requests: z.number(),
  failures: z.number(),
  received: z.number(),
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
});
export type LoadSlice = z.infer<typeof loadSlice>;

export const loadReport = z.object({
  slices: z.array(loadSlice),
  /** By verb: the number of requests, and their times, counted from when each was to be sent. */
  verbs: z.record(
    z.string(),
    z.object({
      count: z.number(),
      failures: z.number(),
      p50Ms: z.number(),
      p99Ms: z.number(),
      maxMs: z.number(),
    }),
  ),
  received: z.number(),
  /** The first failure of each status and detail. */
  failures: z.array(z.string()),
});
export type LoadReport = z.infer<typeof loadReport>;
