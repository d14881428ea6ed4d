import * as z from "zod";
import { type Found, isObject, type JsonObject, type Reading } from "../found.ts";
import { joined, type Parts } from "../parts.ts";
import type { SourceFile } from "../source-files.ts";
import { understood } from "../understood.ts";
import { clockPart, overlapPart, retryPart, zonePart } from "./common-parts.ts";
import { kubernetesWhen } from "./kubernetes-when.ts";
import { keyOf, type Neighbour, type NeighbourParams, placeOf, readEach } from "./neighbour.ts";

const container = z.looseObject({
  name: z.string(),
  image: z.string().optional(),
  command: z.array(z.string()).nullish(),
  args: z.array(z.string()).nullish(),
  env: z.unknown().optional(),
  envFrom: z.unknown().optional(),
});

const cronJobShape = z.looseObject({
  metadata: z.looseObject({ name: z.string().min(1), namespace: z.string().nullish() }),
  spec: z.looseObject({
    schedule: z.string(),
    timeZone: z.string().nullish(),
    suspend: z.boolean().nullish(),
    startingDeadlineSeconds: z.int().min(0).nullish(),
    concurrencyPolicy: z.enum(["Allow", "Forbid", "Replace"]).nullish(),
    successfulJobsHistoryLimit: z.int().nullish(),
    failedJobsHistoryLimit: z.int().nullish(),
    jobTemplate: z
      .looseObject({
        spec: z
          .looseObject({
            backoffLimit: z.int().min(0).nullish(),
            activeDeadlineSeconds: z.int().nullish(),
            completions: z.int().nullish(),
            parallelism: z.int().nullish(),
            template: z
              .looseObject({ spec: z.looseObject({ containers: z.array(container).nullish() }).nullish() })
              .nullish(),
          })
          .nullish(),
      })
      .nullish(),
  }),
});

type CronJob = z.output<typeof cronJobShape>;
type Spec = CronJob["spec"];

/** Reads CronJobs in manifests, and in the output of `kubectl get cronjobs -o yaml` or `-o json`. */
export const kubernetes: Neighbour = {
  isOf: (document) => objectsIn(document).some(isCronJob),
  read(files: readonly SourceFile[], params: NeighbourParams): Reading {
    let others = 0;
    const found = readEach(files, (document, from) => {
      const objects = objectsIn(document);
      others += objects.filter((object) => isObject(object) && !isCronJob(object)).length;
      return objects.filter(isCronJob).map((object) => foundCronJob(object, from, params));
    });
    const notes = others === 0 ? [] : [`${others} objects of other kinds than CronJob are left out.`];
    return { found, notes };
  },
};

function isCronJob(object: unknown): object is { [name: string]: unknown } {
  return isObject(object) && object["kind"] === "CronJob";
}

/** The items of a CronJobList have no kind of their own. */
function objectsIn(document: unknown): unknown[] {
  if (Array.isArray(document)) return document.flatMap(objectsIn);
  if (!isObject(document)) return [];
  const { kind, items } = document;
  if (!Array.isArray(items) || typeof kind !== "string" || !kind.endsWith("List")) return [document];
  return items.map((item: unknown) =>
    kind === "CronJobList" && isObject(item) ? { kind: "CronJob", ...item } : item,
  );
}

function foundCronJob(object: { [name: string]: unknown }, file: string, params: NeighbourParams): Found {
  const from = placeOf(file, isObject(object["metadata"]) ? object["metadata"]["name"] : null);
  const read = understood<CronJob>(object, cronJobShape, from);
  if (!read.ok) return read.found;
  const { metadata, spec } = read.value;
  const namespace = metadata.namespace ?? "default";
  const isOfDefault = namespace === "default";
  const parts = joined(
    timePart(spec, params),
    { body: { target: params.target, payload: payloadOf(read.value, isOfDefault ? null : namespace) } },
    deadlinePart(spec),
    concurrencyPart(spec, params.target),
    jobPart(spec),
    { body: spec.suspend === true ? { paused: true } : {}, differences: lostIn(spec) },
    { differences: always },
  );
  return {
    from,
    key: isOfDefault ? keyOf(metadata.name) : keyOf(namespace, metadata.name),
    ...parts,
  };
}

const always = [
  "Carillon starts no pods: the job goes to the target with the containers in its payload, and its receiver must run them",
];

function timePart(spec: Spec, { timezone }: NeighbourParams): Parts {
  const { when, zone, differences, faults } = kubernetesWhen(spec.schedule);
  const own = spec.timeZone ?? zone;
  const isTwice = spec.timeZone != null && zone !== null;
  const zoned = zonePart(
    own,
    timezone,
    "Kubernetes uses the clock of its controller where timeZone is missing: read as UTC",
  );
  const clock = clockPart([when], zoned.body, { of: "Kubernetes", gap: "skip", overlap: "both" });
  return joined({ body: { when }, differences, faults }, zoned, clock, {
    faults: isTwice ? ["timeZone and a zone within the schedule exclude each other, as in Kubernetes"] : [],
  });
}

const daySeconds = 86_400;
const deadlineSecondsMax = 30 * daySeconds;

function deadlinePart({ startingDeadlineSeconds: seconds }: Spec): Partial<Parts> {
  const latest = "both make up for the latest missed run only (`catchUp`)";
  if (seconds == null) return { differences: [latest] };
  if (seconds === 0)
    return { faults: ["startingDeadlineSeconds is 0, with which Kubernetes starts no job either"] };
  const within = Math.min(seconds, deadlineSecondsMax);
  return {
    body: { deadline: `${within}s`, catchUp: { policy: "latest", within: `${within}s` } },
    differences: [
      `startingDeadlineSeconds is its \`deadline\`: a job that would start more than ${within} s late is skipped`,
      ...(within < seconds ? [`the deadline is at most 30 days, not ${seconds} s`] : []),
      latest,
    ],
  };
}

function concurrencyPart({ concurrencyPolicy }: Spec, target: JsonObject): Partial<Parts> {
  if (concurrencyPolicy === "Forbid")
    return overlapPart(
      "skip",
      "concurrencyPolicy Forbid: Kubernetes starts a forbidden run late, once the earlier one has ended; `overlap` skips it",
      target,
    );
  if (concurrencyPolicy === "Replace")
    return overlapPart(
      "skip",
      "concurrencyPolicy Replace: Kubernetes ends the running job for the new one; Carillon ends no job for another, and `overlap` skips the new one",
      target,
    );
  return {};
}

/** The default of a Job, and the waits between its pods. */
const kubernetesRetries = { byDefault: 6, waits: { backoff: "exponential", base: "10s", max: "6m" } };

function jobPart({ jobTemplate }: Spec): Parts {
  const { backoffLimit, activeDeadlineSeconds, completions, parallelism } = jobTemplate?.spec ?? {};
  const retries = backoffLimit ?? kubernetesRetries.byDefault;
  return joined(retryPart(retries, kubernetesRetries.waits), {
    differences: [
      `backoffLimit ${retries} is its \`retry\`, with the waits of Kubernetes (10 s to 6 min)`,
      ...(activeDeadlineSeconds == null
        ? []
        : [
            `activeDeadlineSeconds ${activeDeadlineSeconds} bounds all attempts together and is left out; \`timeout\` bounds one attempt`,
          ]),
      ...(Math.max(completions ?? 1, parallelism ?? 1) > 1
        ? ["completions and parallelism start several pods; Carillon sends one job"]
        : []),
    ],
  });
}

function payloadOf({ metadata, spec }: CronJob, namespace: string | null): JsonObject {
  const containers = containersOf(spec).map(({ name, image, command, args }) => ({
    name,
    ...(image === undefined ? {} : { image }),
    ...(command == null ? {} : { command }),
    ...(args == null ? {} : { args }),
  }));
  return { ...(namespace === null ? {} : { namespace }), name: metadata.name, containers };
}

function containersOf({ jobTemplate }: Spec): z.output<typeof container>[] {
  return jobTemplate?.spec?.template?.spec?.containers ?? [];
}

function lostIn(spec: Spec): string[] {
  const { successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec;
  const hasLimits = successfulJobsHistoryLimit != null || failedJobsHistoryLimit != null;
  const hasEnvironment = containersOf(spec).some(({ env, envFrom }) => env != null || envFrom != null);
  return [
    ...(hasLimits
      ? ["history limits count jobs; Carillon keeps the history of all schedules by days (retention)"]
      : []),
    // Only that there are some, because the values may be secrets.
    ...(hasEnvironment ? ["its containers have variables (env), which are not sent"] : []),
  ];
}
