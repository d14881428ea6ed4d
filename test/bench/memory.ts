import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { Sql } from "../../lib/db/connect.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { benchHandler, type Destination, fill, seedDestination } from "./drain-fill.ts";
import type { MemoryUsed } from "./memory-process.ts";
import { type Figures, machine, number, type Options, type Say } from "./report.ts";
import { swallowingQueue } from "./swallowing-queue.ts";

export const does =
  "memory of a worker's process for ten parcels of 250 jobs with payloads of 240 KB, by the payloads' content";

export const options = { jobs: "2500", parcels: "10", heap: "900", only: "" };

/**
 * Payloads that take different amounts of memory once parsed: a text, one of two bytes a character,
 * and a list of empty objects.
 */
const payloads = {
  text: "to_jsonb(repeat('x', 240000))",
  cjk: "to_jsonb(repeat('字', 80000))",
  objects: "(select jsonb_agg('{}'::jsonb) from generate_series(1, 60000))",
} as const;

type Payload = keyof typeof payloads;

/** The payloads' names on the page. */
const made: Readonly<Record<Payload, string>> = {
  text: "a text",
  cjk: "a text of Chinese characters",
  objects: "a list of empty objects",
};

const mixes = [
  { name: "fast/text", destination: "queue", payload: "text" },
  { name: "fast/cjk", destination: "queue", payload: "cjk" },
  { name: "fast/objects", destination: "queue", payload: "objects" },
  { name: "slow/text", destination: "handler", payload: "text" },
  { name: "slow/objects", destination: "handler", payload: "objects" },
] as const satisfies readonly { name: string; destination: Destination; payload: Payload }[];

/**
 * `heap`: the heap limit in MiB that Lambda sets for a function of 1,024 MiB. `only`: mixes,
 * separated by semicolons.
 */
export async function bench(options: Options, say: Say): Promise<Figures> {
  const only = (options["only"] ?? "").split(";").filter((name) => name !== "");
  const [jobs, parcels] = [number(options, "jobs"), number(options, "parcels")];
  say(machine());
  await using stack = await benchStack(options["data-dir"], 4);
  await using sink = await swallowingQueue();
  const used: Record<string, MemoryUsed | string> = {};
  for (const { name, destination, payload } of mixes) {
    if (only.length > 0 && !only.includes(name)) continue;
    await seedDestination(stack.sql, destination, jobs);
    await makeHeavy(stack.sql, parcels, payload);
    await fill(stack, { destination, jobs, known: true });
    const outcome = await workApart(stack, sink.url, destination, number(options, "heap"));
    used[name] = outcome;
    say(
      `${name}: ${typeof outcome === "string" ? outcome : `${outcome.peakMiB} MiB for ${outcome.jobs} jobs in ${outcome.ms} ms`}`,
    );
    await stack.sql`delete from carillon.parcels`;
  }
  return { used, parcels, jobs, heapMiB: number(options, "heap"), ...measuredOn(stack) };
}

interface MemoryFigures extends Figures {
  used: Readonly<Record<string, MemoryUsed | string>>;
  parcels: number;
  jobs: number;
  heapMiB: number;
}

export function page({ used, parcels, jobs, heapMiB }: MemoryFigures): string {
  const rows = mixes.flatMap(({ name, destination, payload }) => {
    const each = used[name];
    if (each === undefined) return [];
    const figures =
      typeof each === "string"
        ? `${each} | | `
        : `${each.peakMiB} MiB | ${each.beginsAtMiB} MiB | ${each.jobs.toLocaleString("en")}`;
    return [`| a ${destination} | ${made[payload]} | ${figures} |`];
  });
  return `The memory of one invocation of a worker, in a process of its own with a heap of ${heapMiB} MiB, as Lambda sets it for a function of 1,024 MiB. ${jobs.toLocaleString("en")} jobs with payloads of 240 KB wait in ${parcels} parcels.
A fast worker gets all of them in one batch of messages; a slow one gets the message of one and claims others with it.

| jobs go to | each payload is | peak of the process | before its first claim | jobs worked |
|---|---|--:|--:|--:|
${rows.join("\n")}

Payloads are read in pages of 2 MiB of JSON, four at a time, whatever the number of waiting jobs. A text takes little more once it is parsed; 240 KB of empty objects take 3.8 MB, and as much again in a handler's own copy. A peak near the heap's limit is mostly garbage that Node did not need to collect: with \`--heap 400\` the same jobs are worked too.
A slow worker starts nothing more five seconds after its own start; jobs without a page by then are returned.`;
}

/** Few shards, so that parcels are full, and a handler so quick that its parcels share a worker. */
async function makeHeavy(sql: Sql, parcels: number, payload: Payload): Promise<void> {
  await sql`update carillon.schedules set shard = id % ${parcels}::int`;
  await sql.unsafe(`update carillon.schedule_versions set payload = ${payloads[payload]}`);
  await sql`update carillon.targets set cost_ms = 0.1`;
}

/** Runs the worker in a process of its own. Returns its peak memory, or how the process ended. */
async function workApart(
  { sql, env }: BenchStack,
  sinkUrl: string,
  destination: Destination,
  heapMiB: number,
): Promise<MemoryUsed | string> {
  const ids = await sql<{ id: string }[]>`
    select id from carillon.parcels order by id limit ${destination === "queue" ? 10 : 1}`;
  const child = spawn(
    process.execPath,
    [
      `--max-old-space-size=${heapMiB}`,
      fileURLToPath(new URL("memory-process.ts", import.meta.url)),
      JSON.stringify({ env, sinkUrl, destination, ids: ids.map(({ id }) => id), benchHandler }),
    ],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  const [said, [code, signal]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return code === 0 ? JSON.parse(said) : `ended by ${signal ?? `exit ${code}`}`;
}
