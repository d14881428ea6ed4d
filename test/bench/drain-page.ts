import * as z from "zod";
import { type CpuShares, cpuLine } from "./cpu-split.ts";
import { carrierNames, type DrainCase, type Drained, type DrainRun, drained } from "./drain-runs.ts";
import { type Figures, median } from "./report.ts";
import { bars } from "./svg/bars.ts";
import { writePicture } from "./svg/write-picture.ts";

/** The runs of one case: medians, and the lowest and highest rate. */
export interface Summary extends DrainCase {
  perSecond: number;
  range: readonly [number, number];
  walPerJob: number;
  jobsPerParcel: number;
  cpu: CpuShares | null;
}

export function summaries(runs: readonly DrainRun[]): Summary[] {
  return [...Map.groupBy(runs, ({ drained, carrier }) => `${drained}/${carrier}`).values()].flatMap((own) => {
    const [first] = own;
    if (first === undefined) return [];
    const rates = own.map(({ perSecond }) => perSecond);
    const middle = own.find(({ perSecond }) => perSecond === median(rates)) ?? first;
    return [
      {
        drained: first.drained,
        carrier: first.carrier,
        perSecond: middle.perSecond,
        range: [Math.min(...rates), Math.max(...rates)] as const,
        walPerJob: median(own.map(({ walPerJob }) => walPerJob)),
        jobsPerParcel: median(own.map(({ jobsPerParcel }) => jobsPerParcel)),
        cpu: middle.cpu,
      },
    ];
  });
}

const kinds: Readonly<Record<Drained, string>> = {
  "no-op": "nothing: claim and settle alone",
  "a fifth fails once": "nothing, and every fifth job fails once and is retried at once",
  handler: "a handler that does nothing",
  "handler, ten a parcel": "the same, ten jobs a parcel regardless of their cost",
  "queue, sink": "a queue, answered here before the request is serialized and signed",
  "queue, emulator": "a queue of the emulator",
};

const shares = z.object({ nodeMs: z.number(), postgresMs: z.number(), wallMs: z.number() });
const written = z.object({
  ceiling: z.number(),
  runs: z.array(
    z.object({
      drained: z.enum(drained),
      carrier: z.enum(carrierNames),
      jobs: z.number(),
      ms: z.number(),
      perSecond: z.number(),
      walPerJob: z.number(),
      jobsPerParcel: z.number(),
      cpu: shares.nullable(),
    }),
  ),
});

export async function drainPage(figures: Figures): Promise<string> {
  const { runs, ceiling } = written.parse(figures);
  const rows = summaries(runs);
  const carrierName = { sqs: "through SQS", direct: "without" } as const;
  const groups = (Object.keys(kinds) satisfies string[]).flatMap((drained) => {
    const own = rows.filter((row) => row.drained === drained);
    return own.length === 0
      ? []
      : [
          {
            label: drained,
            bars: own.map(({ carrier, perSecond, range }) => ({
              label: carrierName[carrier],
              value: perSecond,
              range,
              ours: true,
            })),
          },
        ];
  });
  const shown = await writePicture(
    "drain",
    bars({
      title: "Jobs drained in a second",
      desc: "Claimed, delivered and settled; medians, and the lowest and highest run.",
      unit: "jobs/s",
      groups,
    }),
  );
  const table = rows.map(
    ({ drained, carrier, perSecond, walPerJob, jobsPerParcel, cpu }) =>
      `| ${kinds[drained]} | ${carrierName[carrier]} | ${perSecond.toLocaleString("en")} | ${jobsPerParcel} | ${walPerJob} | ${cpuLine(cpu).replace("CPU: ", "")} |`,
  );
  return `${shown}

| jobs go to | parcels travel | jobs/s | jobs a parcel | WAL a job, bytes | CPU |
|---|---|---:|---:|---:|---|
${table.join("\n")}

The emulator alone took ${ceiling.toLocaleString("en")} of the same messages a second from a sender that does nothing else. It runs in the process of the workers, as everything but Postgres does here, so jobs
through SQS share one core with it. In a deployment SQS runs on AWS's machines.`;
}
