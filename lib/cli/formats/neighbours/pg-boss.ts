import * as z from "zod";
import { type Found, isObject, type JsonObject, type Reading } from "../found.ts";
import { joined, type Parts } from "../parts.ts";
import type { SourceFile } from "../source-files.ts";
import { understood } from "../understood.ts";
import { retryPart, zonePart } from "./common-parts.ts";
import { keyOf, type Neighbour, type NeighbourParams, readEach } from "./neighbour.ts";
import { jsonValue } from "./ruby-jobs.ts";

const optionsShape = z.looseObject({
  retryLimit: z.int().min(0).nullish(),
  retryDelay: z.number().min(0).nullish(),
  retryBackoff: z.boolean().nullish(),
  retryDelayMax: z.number().min(0).nullish(),
});

const rowShape = z.looseObject({
  name: z.string().min(1),
  key: z.string().nullish(),
  cron: z.string(),
  timezone: z.string().nullish(),
  data: jsonValue.optional(),
  options: optionsShape.nullish(),
});

type Row = z.output<typeof rowShape>;

/** Reads rows of pg-boss's table `schedule` as JSON: a list, or one row after the other. */
export const pgBoss: Neighbour = {
  isOf: (document) => rowsIn(document).some(isRow),
  read: (files: readonly SourceFile[], params: NeighbourParams): Reading => ({
    found: readEach(files, (document, from) => {
      const rows = rowsIn(document);
      return rows.map((row, index) => foundRow(row, rows.length === 1 ? from : `${from} [${index}]`, params));
    }),
    notes: [],
  }),
};

function rowsIn(document: unknown): unknown[] {
  return Array.isArray(document) ? document : [document];
}

function isRow(row: unknown): boolean {
  return isObject(row) && "name" in row && "cron" in row && "timezone" in row && "options" in row;
}

function foundRow(row: unknown, from: string, params: NeighbourParams): Found {
  const read = understood<Row>(row, rowShape, from);
  if (!read.ok) return read.found;
  const { name, key, data } = read.value;
  const names = key == null || key === "" ? [name] : [name, key];
  const payload: JsonObject = { name, data: data ?? null };
  const parts = joined(
    timePart(read.value, params),
    { body: { target: params.target, payload } },
    retriesPart(read.value),
    { differences: [...lostIn(read.value), ...always] },
  );
  return { from, key: keyOf(...names), ...parts };
}

const always = [
  'the job goes to the target as `{"name":…,"data":…}`, not to the queue of pg-boss; its receiver must work it or send it on',
  "pg-boss looks every 30 s and skips runs of which no instance saw the minute; Carillon runs within a second, and makes up for the latest missed run (`catchUp`)",
];

function timePart({ cron, timezone }: Row, params: NeighbourParams): Parts {
  const when = cron.trim().replace(/\s+/g, " ");
  const ifNone = "its row has no zone, which pg-boss reads as UTC";
  const zoned = zonePart(timezone ?? null, params.timezone, ifNone);
  const followsClocks = zoned.body["timezone"] !== "UTC";
  return joined({ body: { when } }, zoned, {
    differences: [
      ...(followsClocks
        ? [
            "at clock changes, pg-boss (cron-parser) runs a skipped time an hour later and a repeated one once or twice; Carillon runs it right after the gap, and once",
          ]
        : []),
      ...(/\bH/.test(when)
        ? ["`H`: pg-boss draws a value at each look; Carillon derives a fixed value from the key"]
        : []),
    ],
  });
}

const carillonBackoff = { shortest: "1ms", longestSeconds: 7 * 86_400 };

function retriesPart({ options }: Row): Partial<Parts> {
  const { retryLimit, retryDelay, retryBackoff, retryDelayMax } = options ?? {};
  if (retryLimit == null)
    return {
      differences: [
        "its retries are those of its pg-boss queue (twice, at once, by default), which the row does not have; Carillon makes up to five attempts (`retry`)",
      ],
    };
  const isGrowing = retryBackoff === true;
  // A growing wait of pg-boss begins at one second at least.
  const delay = Math.min(Math.max(retryDelay ?? 0, isGrowing ? 1 : 0), carillonBackoff.longestSeconds);
  const max = Math.max(delay, retryDelayMax ?? 0);
  return retryPart(retryLimit, {
    backoff: isGrowing ? "exponential" : "fixed",
    base: delay === 0 ? carillonBackoff.shortest : `${Math.ceil(delay)}s`,
    ...(max > 3_600 || retryDelayMax != null ? { max: `${Math.ceil(max)}s` } : {}),
  });
}

const known: ReadonlySet<string> = new Set([
  "tz",
  "key",
  "retryLimit",
  "retryDelay",
  "retryBackoff",
  "retryDelayMax",
]);

function lostIn({ options }: Row): string[] {
  const others = Object.entries(options ?? {})
    .filter(([name, value]) => !known.has(name) && value !== null)
    .map(([name]) => name);
  return others.length === 0 ? [] : [`its options ${others.join(", ")} are left out`];
}
