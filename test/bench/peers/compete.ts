import { PurgeQueueCommand } from "@aws-sdk/client-sqs";
import { systemClock } from "../../../lib/clock.ts";
import { connect } from "../../../lib/db/connect.ts";
import { errorText } from "../../../lib/log/error-text.ts";
import type { BenchStack } from "../bench-stack.ts";
import type { Say } from "../report.ts";
import { type ContestantFigures, figuresOf, runText } from "./figures.ts";
import { DueTooSoon, type Field, type Run, runAdded, runDue, type Work } from "./measure.ts";
import type { Peer, Place } from "./peer.ts";
import { type Program, startProgram } from "./program.ts";

/** A peer that takes part: installed, started, warm, and with its quickest number of processes. */
export interface Contestant {
  peer: Peer;
  count: number;
  producer: Program;
  workers: readonly Program[];
  /** The empty database that each of its runs copies, or the peer's own store. */
  template: string;
  url: string | undefined;
  storeMaxMs: number;
  runs: Record<Work, Run[]>;
  figures(): ContestantFigures;
}

const processesMax = 2;
const trialRounds = 2;
const trialStoreMaxMs = 10_000;
const storeMargin = 2;
const storeLeastMs = 1_000;

/** Prepares a peer, or returns the reason why it cannot take part. */
export async function enter(
  peer: Peer,
  place: Place,
  { jobs, say }: { jobs: number; say: Say },
): Promise<Contestant | string> {
  const { stack, during } = place;
  const count = Math.max(1, Math.round(jobs * (peer.share ?? 1)));
  try {
    const { command, url } = await peer.prepare(place);
    const programs = Array.from({ length: 1 + processesMax }, () => startProgram(command));
    for (const program of programs) during.defer(() => program.end());
    const [producer, ...workers] = programs;
    if (producer === undefined) return "it has no process";
    const template = `peers_${peer.name.replaceAll("-", "_")}`;
    if (url === undefined) await stack.sql`create database ${stack.sql(template)}`;
    await producer.install(url ?? urlOf(stack, template));
    const runs: Contestant["runs"] = { due: [], added: [] };
    const begun = { peer, count, producer, template, url, runs, storeMaxMs: storeLeastMs };
    const tried = await trial({ ...begun, workers }, stack, say);
    const best = { ...begun, ...tried };
    return { ...best, figures: () => figuresOf(best) };
  } catch (error) {
    return `it failed: ${errorText(error)}`;
  }
}

type Entrant = Omit<Contestant, "figures">;

/**
 * Tries one worker process and two, twice each, because the first trial includes compilation, and
 * keeps the quicker number. A trial is as long as a run: in a fifth of that time, a peer that gains
 * half its speed by a second process appeared to gain nothing.
 */
async function trial(
  entrant: Entrant,
  stack: BenchStack,
  say: Say,
): Promise<Pick<Contestant, "workers" | "storeMaxMs">> {
  const tried: { workers: readonly Program[]; run: Run }[] = [];
  const work = entrant.peer.works?.[0] ?? "added";
  for (let round = 1; round <= trialRounds; round++) {
    for (let processes = processesMax; processes >= 1; processes--) {
      const workers = entrant.workers.slice(0, processes);
      tried.push({
        workers,
        run: await measured({ ...entrant, workers, storeMaxMs: trialStoreMaxMs }, stack, work),
      });
    }
  }
  const [first, ...others] = tried;
  if (first === undefined) throw new Error("Nothing was tried.");
  const best = others.reduce((a, b) => (b.run.doneMs < a.run.doneMs ? b : a), first);
  say(
    `${entrant.peer.name}: ${tried.map(({ workers, run }) => `${workers.length} processes ${Math.round((entrant.count / run.doneMs) * 1_000)}/s`).join(", ")}`,
  );
  const storeMs = Math.max(...tried.map(({ run }) => run.storeMs));
  return { workers: best.workers, storeMaxMs: Math.round(storeMs * storeMargin + storeLeastMs) };
}

/** Runs the contestant once for each work. */
export async function compete(
  contestant: Contestant,
  stack: BenchStack,
  { run, say }: { run: number; say: Say },
): Promise<void> {
  for (const work of contestant.peer.works ?? (["due", "added"] as const)) {
    const done = await measured(contestant, stack, work);
    contestant.runs[work].push(done);
    say(`run ${run}, ${contestant.peer.name}, ${work}: ${runText(done, contestant.count)}`);
  }
}

const triesMax = 4;

/**
 * Runs on a new database. If some jobs were due before all were stored, repeats with twice the time
 * for storing, up to four times.
 */
async function measured(entrant: Entrant, stack: BenchStack, work: Work): Promise<Run> {
  for (let attempt = 1, { storeMaxMs } = entrant; ; attempt++, storeMaxMs *= 2) {
    try {
      return await onNewDatabase(entrant, stack, (url) => {
        const field = fieldOf({ ...entrant, storeMaxMs }, stack, url);
        return work === "due" ? runDue(field) : runAdded(field);
      });
    } catch (error) {
      if (!(error instanceof DueTooSoon) || attempt === triesMax) throw error;
    }
  }
}

function fieldOf(entrant: Entrant, stack: BenchStack, url: string): Field {
  const { count, producer, workers, storeMaxMs, peer } = entrant;
  return {
    url,
    count,
    producer,
    workers,
    words: peer.words ?? {},
    storeMaxMs,
    walBytes: entrant.url === undefined ? stack.walBytes : null,
    tidy: async () => {
      if (entrant.url === undefined) await tidied(url);
      await stack.sql`checkpoint`;
    },
    postgresPid: stack.postgresPid,
  };
}

/**
 * Stands in for autovacuum, which analyses this many rows within a minute: in production that is
 * done long before the jobs are due.
 */
async function tidied(url: string): Promise<void> {
  const sql = connect({ DATABASE_URL: url }, { max: 1 });
  try {
    await sql`vacuum (analyze)`;
  } finally {
    await sql.end();
  }
}

let databases = 0;

async function onNewDatabase(
  { url, template, producer }: Entrant,
  stack: BenchStack,
  act: (url: string) => Promise<Run>,
): Promise<Run> {
  const { sql, queue } = stack;
  for (const QueueUrl of Object.values(queue.urls)) await queue.sqs.send(new PurgeQueueCommand({ QueueUrl }));
  if (url !== undefined) {
    // A peer's `install` also empties existing tables.
    await producer.install(url);
    return act(url);
  }
  const name = `peers_run_${++databases}`;
  await sql`create database ${sql(name)} template ${sql(template)}`;
  await sql`checkpoint`;
  try {
    return await act(urlOf(stack, name));
  } finally {
    await untilLeft(stack, name);
    await sql`drop database ${sql(name)} with (force)`;
  }
}

const leaveMs = 5_000;
const pollMs = 20;

/** A pool that was closed may still be logging out. Only this check's own connection remains. */
async function untilLeft({ sql }: BenchStack, database: string): Promise<void> {
  for (let waited = 0; waited < leaveMs; waited += pollMs) {
    const [row] = await sql<{ connections: number }[]>`
      select count(*)::int as connections from pg_stat_activity where datname = ${database}`;
    if ((row?.connections ?? 0) <= 1) return;
    await systemClock.sleep(pollMs);
  }
}

function urlOf({ env }: BenchStack, database: string): string {
  const url = new URL(env["DATABASE_URL"] ?? "");
  url.pathname = `/${database}`;
  return url.href;
}
