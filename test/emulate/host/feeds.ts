import { z } from "zod";
import { ingestQueue, jobQueues, type LocalFunctions } from "../../../lib/tools/local/local-functions.ts";
import type { QueueSpec } from "../../../lib/tools/local/queue/start-queues.ts";
import type { Template } from "../gaps.ts";
import { namedIn } from "./without-lambda.ts";

/** A queue of the template, and the local function that gets its messages. */
export interface Feed {
  readonly queueId: string;
  readonly consumer: "fastWorker" | "slowWorker" | "ingest";
  readonly batchSize: number;
}

/** The local functions by the beginning of the ids that the CDK gives to deployed ones. */
const functionNames: Readonly<Record<string, keyof LocalFunctions>> = {
  ApiFunction: "api",
  IngestFunction: "ingest",
  TickFunction: "tick",
  FastWorkerFunction: "fastWorker",
  SlowWorkerFunction: "slowWorker",
};

/** The local function in the place of a deployed one. */
export function localNameOf(functionId: string): keyof LocalFunctions {
  const name = functionNames[functionId.replace(/[0-9A-F]{8}$/, "")];
  if (name === undefined) throw new Error(`No local function replaces ${functionId}.`);
  return name;
}

const mapping = z.looseObject({
  EventSourceArn: z.unknown(),
  FunctionName: z.unknown(),
  BatchSize: z.int(),
});
const consumers = z.enum(["fastWorker", "slowWorker", "ingest"]);

/** A feed for each event source mapping of the template; throws for one that no local function takes. */
export function feedsOf({ Resources }: Template): Feed[] {
  return Object.values(Resources)
    .filter(({ Type }) => Type === "AWS::Lambda::EventSourceMapping")
    .map(({ Properties }) => {
      const { EventSourceArn, FunctionName, BatchSize } = mapping.parse(Properties);
      const [queueId = ""] = namedIn(EventSourceArn);
      const [functionId = ""] = namedIn(FunctionName);
      return { queueId, consumer: consumers.parse(localNameOf(functionId)), batchSize: BatchSize };
    });
}

const specs: Readonly<Record<Feed["consumer"], QueueSpec>> = {
  fastWorker: jobQueues.fast,
  slowWorker: jobQueues.slow,
  ingest: ingestQueue,
};
const redriven = z.looseObject({ RedrivePolicy: z.looseObject({ deadLetterTargetArn: z.unknown() }) });

/** The ids of the template's queues, by the names that the local functions have for them. */
export function queueIdsOf(template: Template): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const { queueId, consumer } of feedsOf(template)) {
    const { name, deadLetters } = specs[consumer];
    ids.set(name, queueId);
    const { RedrivePolicy } = redriven.parse(template.Resources[queueId]?.Properties);
    const [deadId = ""] = namedIn(RedrivePolicy.deadLetterTargetArn);
    if (deadLetters !== undefined) ids.set(deadLetters.name, deadId);
  }
  return ids;
}
