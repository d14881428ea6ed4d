import * as z from "zod";

/** What the generator is told to do, and what it tells in return; the two are processes of their own. */
export const loadOrder = z.object({
  api: z.url(),
  sqs: z.url(),
  token: z.string(),
  /** In milliseconds since 1970, as everything here. */
  from: z.number(),
  to: z.number(),
  sliceMs: z.number(),
  rates: z.object({
    /** Schedules put a few seconds before they are due. */
    soon: z.number(),
    creates: z.number(),
    edits: z.number(),
    deletes: z.number(),
    reads: z.number(),
  }),
  /** Keys `<prefix>:<n>` that stand already and are read and edited, so many. */
  standing: z.object({ prefix: z.string(), count: z.number() }),
  /** Of what is created, in turns. */
  targets: z.array(z.record(z.string(), z.string())),
  /** Queues that are emptied meanwhile, as receivers would. */
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
  /** By verb: how many, and how long each took from when it was to be sent. */
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
  /** The first of each status and detail. */
  failures: z.array(z.string()),
});
export type LoadReport = z.infer<typeof loadReport>;
