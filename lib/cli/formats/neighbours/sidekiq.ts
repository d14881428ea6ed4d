import * as z from "zod";
import { durationMs } from "../../../cadence/duration.ts";
import { type Found, isObject, type JsonObject, type Reading } from "../found.ts";
import { joined, type Parts } from "../parts.ts";
import type { SourceFile } from "../source-files.ts";
import { understood } from "../understood.ts";
import { retryPart } from "./common-parts.ts";
import { keyOf, type Neighbour, type NeighbourParams, placeOf, readEach } from "./neighbour.ts";
import { argumentsOf, fugitPart, jsonValue } from "./ruby-jobs.ts";

/** A time as a text, or as a list of it and its options, as sidekiq-scheduler takes it. */
const time = z.union([z.string(), z.tuple([z.string()], z.unknown())]).nullish();

const jobShape = z.looseObject({
  name: z.string().min(1),
  namespace: z.string().nullish(),
  class: z.string().nullish(),
  klass: z.string().nullish(),
  cron: time,
  every: time,
  args: jsonValue.optional(),
  queue: z.string().nullish(),
  status: z.string().nullish(),
  enabled: z.boolean().nullish(),
  description: z.string().nullish(),
  retry: z.union([z.int().min(0), z.boolean()]).nullish(),
  date_as_argument: z.unknown().optional(),
});

type SidekiqJob = z.output<typeof jobShape>;

/** Reads schedule files of Sidekiq-cron, and the schedule of sidekiq-scheduler. */
export const sidekiq: Neighbour = {
  isOf: (document) => jobsIn(document).some(isJob),
  read: (files: readonly SourceFile[], params: NeighbourParams): Reading => ({
    found: readEach(files, (document, from) => jobsIn(document).map((job) => foundJob(job, from, params))),
    notes: [],
  }),
};

function isJob(job: unknown): boolean {
  return isObject(job) && ("class" in job || "klass" in job) && ("cron" in job || "every" in job);
}

/** The jobs with their names: a list of them, or an object by name, perhaps within sidekiq.yml. */
function jobsIn(document: unknown): unknown[] {
  if (Array.isArray(document)) return document.map(plainNames);
  if (!isObject(document)) return [];
  const { scheduler, schedule } = plainNames(document);
  const within = isObject(scheduler) ? plainNames(scheduler)["schedule"] : schedule;
  const byName = isObject(within) ? within : document;
  return Object.entries(byName).map(([name, job]) =>
    isObject(job) ? { ...plainNames(job), name: name.replace(/^:/, "") } : { name },
  );
}

/** Ruby symbols keep their colon in YAML: `:cron`. */
function plainNames(job: unknown): { [name: string]: unknown } {
  if (!isObject(job)) return {};
  return Object.fromEntries(Object.entries(job).map(([name, value]) => [name.replace(/^:/, ""), value]));
}

function foundJob(job: unknown, file: string, params: NeighbourParams): Found {
  const from = placeOf(file, isObject(job) ? job["name"] : null);
  const read = understood<SidekiqJob>(job, jobShape, from);
  if (!read.ok) return read.found;
  const { name, namespace, description, status, enabled } = read.value;
  const isPaused = status === "disabled" || enabled === false;
  const isOfDefault = namespace == null || namespace === "default";
  const parts = joined(
    timePart(read.value, params),
    { body: { target: params.target } },
    workPart(read.value),
    {
      body: {
        ...(isPaused ? { paused: true } : {}),
        ...(description == null || description === "" ? {} : { description }),
      },
      differences: always,
    },
  );
  return { from, key: isOfDefault ? keyOf(name) : keyOf(namespace, name), ...parts };
}

const always = [
  'Carillon runs no Ruby: the job goes to the target as `{"class":…,"args":[…]}`, and its receiver must run it or enqueue it in Sidekiq',
  "Sidekiq-cron skips runs that it missed by more than a minute; Carillon makes up for the latest one (`catchUp`)",
  "a job counts as done when its receiver has answered, not when Sidekiq has worked it",
];

function timePart({ cron, every }: SidekiqJob, { timezone }: NeighbourParams): Partial<Parts> {
  if (cron != null) {
    const text = typeof cron === "string" ? cron : cron[0];
    return fugitPart(text, timezone, "Ruby uses its own zone (TZ, or Time.zone of Rails)");
  }
  if (every == null)
    return { faults: ["it has neither `cron` nor `every`: `at`, `in` and `interval` cannot be imported"] };
  const text = typeof every === "string" ? every : every[0];
  const isExact = /^(\d+[wdhms])+$/.test(text) && durationMs(text) !== null;
  if (!isExact)
    return {
      faults: [`every takes units from s to w here, as in 1h30m; ${JSON.stringify(text)} has others`],
    };
  return {
    body: { when: `every ${text}` },
    differences: [
      "it counts from its creation in Carillon; in Sidekiq from the start of its process",
      ...(typeof every === "string" ? [] : ["the options of `every`, such as first_in, are left out"]),
    ],
  };
}

const sidekiqRetries = 25;

function workPart({ class: named, klass, args, queue, retry, date_as_argument }: SidekiqJob): Partial<Parts> {
  const of = named ?? klass ?? "";
  const payload: JsonObject = {
    class: of,
    args: argumentsOf(args),
    ...(queue == null ? {} : { queue }),
  };
  const isDated = /^(true|t|yes|y|1)$/i.test(String(date_as_argument));
  const retries = retry === false ? 0 : retry;
  const retried: Partial<Parts> =
    typeof retries === "number"
      ? retryPart(retries)
      : {
          differences: [
            `Sidekiq retries ${sidekiqRetries} times over three weeks unless its class says otherwise; Carillon makes up to five attempts within minutes (\`retry\`)`,
          ],
        };
  return joined({ body: { payload }, faults: of === "" ? ["it has no class"] : [] }, retried, {
    differences: isDated ? ["date_as_argument: the envelope has the time of the run, the args do not"] : [],
  });
}
