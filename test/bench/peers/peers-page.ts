import * as z from "zod";
import type { Figures } from "../report.ts";
import { bars } from "../svg/bars.ts";
import { writePicture } from "../svg/write-picture.ts";
import type { Work } from "./measure.ts";

const workShape = z.object({
  storedPerSecond: z.number(),
  donePerSecond: z.number(),
  firstMs: z.number(),
  lastMs: z.number(),
  again: z.number(),
  walPerJob: z.object({ store: z.number(), done: z.number() }).nullable(),
  cpu: z.object({ postgresUs: z.number(), othersUs: z.number() }).nullable(),
  runs: z.array(z.object({ doneMs: z.number() })),
});

const figuresShape = z.object({
  jobs: z.number(),
  contestants: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      settings: z.string(),
      promise: z.string(),
      count: z.number(),
      processes: z.number(),
      works: z.object({ due: workShape.optional(), added: workShape.optional() }),
    }),
  ),
  skipped: z.array(z.object({ name: z.string(), why: z.string() })),
  settings: z.string(),
});

type Read = z.output<typeof figuresShape>;
type Contestant = Read["contestants"][number];

const titles: Record<Work, string> = {
  due: "Schedules due at one instant → done",
  added: "Jobs added → done",
};

/**
 * The peer that all are compared with: DESIGN's budget is twice the best queue on Postgres for
 * Node.
 */
const reference = "graphile-worker";
const own = "carillon";

export async function page(figures: Figures): Promise<string> {
  const read = figuresShape.parse(figures);
  const { contestants, skipped, jobs, settings } = read;
  const left = skipped.map(({ name, why }) => `${name} (${why})`).join("; ");
  return `${how(jobs, settings)}

${left === "" ? "" : `Left out: ${left}.\n\n`}${table(read, "due")}

${table(read, "added")}

${await picture(read)}

Each contestant, with its settings:

${contestants.map(({ name, version, settings: set, promise }) => `- **${name}** ${version}: ${set}. Its promise: ${promise}.`).join("\n")}

${unequal}`;
}

function how(jobs: number, settings: string): string {
  return `All on the same Postgres (${settings}), each on a database of its own that is created for each run, with the same work: jobs that do nothing but note their number.
${jobs.toLocaleString("en")} jobs a run, or as many as the table says. The contestants run in turns, and the table has the median of each one's runs. One process adds the jobs; one or two work them, whichever number was quicker in two trials of the same size before, which also warmed the runtimes up. On each database the workers have done a third as many before the clock starts, since workers in use are warm.
All processes and Postgres share this machine's cores. *Due*: everything is stored and its tables vacuumed and analyzed, as autovacuum does within a minute, the workers are up, warm and idle when the instant comes, and the clock starts with the instant. *Added*: the workers are up, warm and idle, and the clock starts with the first add.
It stops when every job in the store is recorded as done. The bench checks that each job has run; repeated runs are listed below.`;
}

function table({ contestants }: Read, work: Work): string {
  const referred = contestants.find(({ name }) => name === reference)?.works[work]?.donePerSecond;
  const rows = contestants.flatMap((contestant) => {
    const figures = contestant.works[work];
    return figures === undefined ? [] : [row(contestant, figures, referred)];
  });
  return `**${titles[work]}**

| | jobs | processes | stored/s | done/s | first, last (ms) | WAL a job (B) | CPU a job: Postgres, all else (µs) | ran again | it : ${reference} |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
${rows.join("\n")}`;
}

function row(
  { name, count, processes }: Contestant,
  figures: z.output<typeof workShape>,
  referred: number | undefined,
): string {
  const { walPerJob: wal, cpu } = figures;
  const cells = [
    name,
    text(count),
    text(processes),
    text(figures.storedPerSecond),
    text(figures.donePerSecond),
    `${text(figures.firstMs)}, ${text(figures.lastMs)}`,
    wal === null ? "–" : text(wal.store + wal.done),
    cpu === null ? "–" : `${text(cpu.postgresUs)}, ${text(cpu.othersUs)}`,
    text(figures.again),
    referred === undefined ? "–" : (figures.donePerSecond / referred).toFixed(2),
  ];
  return `| ${cells.join(" | ")} |`;
}

const text = (value: number) => Math.round(value).toLocaleString("en");

async function picture({ contestants }: Read): Promise<string> {
  const groups = (["due", "added"] as const).map((work) => ({
    label: titles[work],
    bars: contestants.flatMap(({ name, count, works }) => {
      const figures = works[work];
      if (figures === undefined) return [];
      const rates = figures.runs.map(({ doneMs }) => (count / doneMs) * 1_000);
      return [
        {
          label: name,
          value: figures.donePerSecond,
          range: [Math.min(...rates), Math.max(...rates)] as const,
          ours: name.startsWith(own),
        },
      ];
    }),
  }));
  const svg = bars({
    title: "Jobs done a second, by Carillon and its peers",
    desc: "For due sets and for added jobs, one bar for each contestant with the range of its runs.",
    unit: "jobs/s",
    groups,
  });
  return writePicture("peers", svg);
}

/** The differences that no setting removes. */
const unequal = `The comparison is not equal: peers are libraries that write to their tables in the caller's process, with their own SQL. Jobs are added to Carillon through its API (a token is checked, a body is validated, a version is kept), and its jobs travel through a queue, and its emulator takes CPU here, except for the contestants called direct.
graphile-worker, BullMQ, db-scheduler and Quartz delete done jobs; pg-boss, River and Carillon keep them. Only Carillon guarantees that an occurrence of a schedule never gets a second job. Before the clock starts, a tick has deleted the schedules of the warm-up, as it does each minute; peers keep the rows of theirs, or their dead versions.
BullMQ keeps nothing in Postgres: its log is a file of its own, and its CPU, including Redis, is under all else.`;
