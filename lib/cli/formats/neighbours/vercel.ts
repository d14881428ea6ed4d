import * as z from "zod";
import { commandKey } from "../command-key.ts";
import { type Found, isObject, type JsonObject, type Reading } from "../found.ts";
import type { SourceFile } from "../source-files.ts";
import { understood } from "../understood.ts";
import { keyOf, readEach } from "./neighbour.ts";

const cronShape = z.looseObject({ path: z.string().startsWith("/"), schedule: z.string() });
const crons = z.looseObject({ crons: z.array(z.unknown()) });

type VercelCron = z.output<typeof cronShape>;

export interface VercelParams {
  /** The target of every cron job; without it, each calls its own path at the base URL. */
  target: JsonObject | undefined;
  /** The address of the deployment, without a path. */
  baseUrl: string | undefined;
}

export function isOfVercel(document: unknown): boolean {
  return isObject(document) && Array.isArray(document["crons"]);
}

/** Reads the `crons` of vercel.json. */
export function readVercel(files: readonly SourceFile[], params: VercelParams): Reading {
  const found = readEach(files, (document, from) => {
    const read = understood(document, crons, from);
    if (!read.ok) return [read.found];
    const times = new Map<unknown, number>();
    for (const cron of read.value.crons)
      if (isObject(cron)) times.set(cron["path"], (times.get(cron["path"]) ?? 0) + 1);
    return read.value.crons.map((cron, index) => {
      const one = understood<VercelCron>(cron, cronShape, `${from} crons[${index}]`);
      return one.ok
        ? foundCron(one.value, `${from} crons[${index}]`, {
            ...params,
            isAlone: times.get(one.value.path) === 1,
          })
        : one.found;
    });
  });
  return { found, notes: [] };
}

function foundCron(
  { path, schedule }: VercelCron,
  from: string,
  { target, baseUrl = "", isAlone }: VercelParams & { isAlone: boolean },
): Found {
  const key = keyOf(...path.split("/").filter((part) => part !== ""));
  const named = key === "" ? "root" : key;
  return {
    from,
    // A path that occurs several times has its times in its key.
    key: isAlone ? named : `${named}-${commandKey("", path, schedule)}`,
    body: {
      when: schedule,
      timezone: "UTC",
      target: target ?? { webhook: { url: new URL(path, baseUrl).href } },
      ...(target === undefined ? {} : { payload: { path } }),
    },
    differences: [...(target === undefined ? webhookDifferences : []), ...always],
    faults: [],
  };
}

const webhookDifferences = [
  "Vercel calls the path with GET and no body; Carillon with POST and an envelope: the route must take POST",
  "Vercel sends CRON_SECRET as `Authorization: Bearer …`, which is not in the file: add it to `webhook.headers`, or check Carillon's signature (`webhook.secret`)",
];

const always = [
  "Vercel does not retry a failed run; Carillon makes up to five attempts (`retry`)",
  "Vercel may start it late (within the hour on its Hobby plan) or twice; Carillon starts it within a second, with at most one job for each time",
  "Vercel skips missed runs; Carillon makes up for the latest one (`catchUp`)",
];
