import * as z from "zod";
import { errorGroupsMax, groupings } from "../../history/error-groups.ts";
import type { EntryFilter } from "../../history/jobs-of-entries.ts";
import { jobStates } from "../../job/read-job.ts";
import type { RetryFilter } from "../../job-control/retry-many.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { keyShape } from "../../schedule/shape/schedule-key.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { dayMs, durationShape } from "../../schedule/shape/timing-shape.ts";
import { isRange, noRange, pageQuery } from "./query.ts";
import { targetFilter } from "./schedule-query.ts";

export const bulkMax = 10_000;
const bulkByDefault = 1_000;

const ownerShapes = {
  key: keyShape.optional(),
  prefix: storableText({ max: 255 }).optional(),
  group: keyShape.optional(),
  tag: keyShape.optional(),
  target: targetFilter.optional(),
};

const foundShapes = {
  reason: storableText({ max: 100 }).optional(),
  from: instantShape.optional(),
  to: instantShape.optional(),
};

const errorGroups = {
  errorGroup: z
    .string()
    .regex(
      new RegExp(`^[0-9a-f]{12}(,[0-9a-f]{12}){0,${errorGroupsMax - 1}}$`),
      `takes up to ${errorGroupsMax} error groups of 12 hexadecimal digits, separated by commas`,
    )
    .transform((text) => [...new Set(text.split(","))])
    .optional()
    .describe(
      `Jobs whose last failed attempt is in one of these error groups: up to ${errorGroupsMax}, separated by commas.`,
    ),
};

const late = {
  lateBy: durationShape({ minMs: 1, maxMs: 366 * dayMs, range: "up to 366d" })
    .optional()
    .describe("Jobs that started at least this long after they were due, such as `5m`."),
};

const entriesMax = 20;

const entries = z
  .string()
  .regex(
    new RegExp(`^[1-9]\\d{0,18}(,[1-9]\\d{0,18}){0,${entriesMax - 1}}$`),
    `takes up to ${entriesMax} ids of entries of the audit, separated by commas`,
  )
  .transform((text) => text.split(","));

const searchShapes = {
  state: z.enum(jobStates).optional(),
  ...ownerShapes,
  ...foundShapes,
  upcoming: z
    .enum(["true", "false"], { error: "takes `true` or `false`" })
    .transform((text) => text === "true")
    .optional()
    .describe(
      "`false`: only jobs whose occurrence has come. `true`: only jobs that are made ahead of it, up to three minutes, or enqueued for later; never dead ones.",
    ),
  ...late,
  ...errorGroups,
  entry: entries
    .optional()
    .describe(
      `Jobs that calls of \`jobs:retry\` or \`jobs:cancel\` have changed, in the states that they have now: the \`entry\` of up to ${entriesMax} answers, separated by commas. Of the other filters it takes \`state\` and \`prefix\`.`,
    ),
};

export const jobsQuery = z.strictObject({ ...searchShapes, ...pageQuery }).refine(isRange, noRange);

export const jobCountQuery = z.strictObject(searchShapes).refine(isRange, noRange);

export const statesQuery = z.strictObject({
  entry: entries.describe(
    `The \`entry\` of up to ${entriesMax} answers of \`jobs:retry\` or \`jobs:cancel\`, separated by commas.`,
  ),
});

export const groupsQuery = z
  .strictObject({
    state: z.enum(["dead", "retrying"]).default("dead").describe("Which failed jobs are grouped."),
    by: z.enum(groupings).default("target,error").describe("The fields that the jobs of one group share."),
    ...ownerShapes,
    ...foundShapes,
    ...errorGroups,
    ...pageQuery,
  })
  .refine(isRange, noRange)
  .superRefine(({ state, by, reason, from, to }, context) => {
    if (state === "dead") return;
    const refuse = (name: string) =>
      context.addIssue({
        code: "custom",
        path: [name],
        message: "takes `state=dead`: a retrying job has no death",
      });
    if (by === "reason") refuse("by");
    for (const [name, value] of Object.entries({ reason, from, to })) if (value !== undefined) refuse(name);
  });

const why = storableText({ min: 0, max: 500 }).optional();

/** The body of a cancel or a retry of one job. */
export const jobRequestShape = z.strictObject({ reason: why });

const limit = z.int().min(1).max(bulkMax).default(bulkByDefault);

const dryRun = z
  .boolean()
  .default(false)
  .describe("Count the jobs, and change nothing. `limit` and `reason` are ignored.");

export const retryManyShape = z.strictObject({
  filter: z
    .strictObject({
      state: z.enum(["dead", "cancelled"]).default("dead"),
      ...ownerShapes,
      ...foundShapes,
      ...late,
      ...errorGroups,
    })
    .refine(isRange, noRange),
  limit,
  reason: why,
  dryRun,
});

export const cancelManyShape = z.strictObject({
  filter: z
    .strictObject({
      state: z.enum(["waiting", "retrying", "running"]).optional(),
      ...ownerShapes,
      ...errorGroups,
    })
    .refine(({ state: _, ...owners }) => Object.values(owners).some((owner) => owner !== undefined), {
      error: "names at least one of `key`, `prefix`, `group`, `tag`, `target` and `errorGroup`",
    }),
  limit,
  reason: why,
  dryRun,
});

type Filter = Omit<z.infer<typeof jobsQuery>, "limit" | "cursor">;

/**
 * Checks and returns the filter of a search in one schedule's history. A bulk retry of cancelled
 * jobs uses it as well. `path` is the position of the filter in the request, for faults.
 */
export function historyFilter(
  { key, state, reason, errorGroup, lateBy, from, to, upcoming, ...others }: Partial<Filter>,
  path = "",
) {
  const faults: Fault[] = Object.entries(others).flatMap(([name, value]) =>
    value === undefined ? [] : [{ path: `${path}${name}`, message: "cannot be combined with `key`" }],
  );
  if (key !== undefined && faults.length === 0)
    return { key, state, reason, errorGroup, lateBy, from, to, upcoming };
  throw new Refusal(
    "impossible",
    "A search in one schedule's jobs takes its `key`, with `state`, `reason`, `errorGroup`, `lateBy`, `upcoming`, `from` and `to` (of occurrences).",
    key === undefined ? [...faults, { path: `${path}key`, message: "is required" }] : faults,
  );
}

/** Checks and returns the filter of a search for the jobs of entries of the audit. */
export function entryFilter({ entry, prefix, state, ...others }: Partial<Filter>): EntryFilter | null {
  if (entry === undefined) return null;
  const faults = Object.entries(others).flatMap(([path, value]) =>
    value === undefined ? [] : [{ path, message: "cannot be combined with `entry`" }],
  );
  if (faults.length === 0) return { entry, prefix, state };
  throw new Refusal("impossible", "A search by `entry` takes `state` and `prefix` beside it.", faults);
}

export function retryFilter(filter: z.infer<typeof retryManyShape>["filter"]): RetryFilter {
  if (filter.state === "dead") return { ...filter, state: "dead" };
  const { state: _, ...rest } = historyFilter(filter, "filter.");
  return { ...rest, state: "cancelled" };
}
