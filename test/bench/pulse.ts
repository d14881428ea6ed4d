import { CreateQueueCommand } from "@aws-sdk/client-sqs";
import * as z from "zod";
import { silentLog } from "../../lib/log/log.ts";
import { handOver } from "../../lib/parcel/hand-over.ts";
import type { OutgoingParcel } from "../../lib/parcel/parcel-queue.ts";
import { horizonMs, missedAfterMs, shardCount } from "../../lib/plan/shard.ts";
import { makePulseParcels } from "../../lib/tick/fire/make-pulse-parcels.ts";
import { wholeTick } from "../../lib/tick/share.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { ensureAdminToken } from "../../lib/token/token.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { batchCallers } from "./callers/batch-callers.ts";
import { runThreads } from "./pulses/threads.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";

export const does =
  "pulses: stored and edited over the API, read and encoded, handed over in batches, and the cost of a tick with them";

export const options = { pulses: "288000", batch: "100", runs: "3" };

const bearer = "bench-token";
const queueName = "bench-pulses";
const batchOf = 1_000;
const periodSeconds = 60;

export async function bench(options: Options, say: Say): Promise<Figures> {
  const pulses = Math.ceil(number(options, "pulses") / batchOf) * batchOf;
  const batch = number(options, "batch");
  const runs = Array.from({ length: number(options, "runs") }, (_, run) => run + 1);
  say(machine());
  await using stack = await benchStack(options["data-dir"], 4);
  await ensureAdminToken(stack.sql, bearer);
  await stack.queue.sqs.send(new CreateQueueCommand({ QueueName: queueName }));
  await stack.sql`delete from carillon.pulses`;
  const withoutPulses = await tickMs(stack, runs);
  const crud = await edits(stack, { pulses, batch });
  say(`API, batches of 1,000 by two: ${JSON.stringify(crud)}`);
  // Lets the pulses start in the past, as if they had existed for a day.
  await stack.sql`update carillon.pulses set starts_s = 0`;
  await stack.sql`vacuum (analyze) carillon.pulses`;
  const [size] = await stack.sql<
    { bytes: number }[]
  >`select avg(octet_length(rest))::int + 110 as bytes from carillon.pulses`;
  const withPulses = await tickMs(stack, runs);
  say(`tick, ms: ${JSON.stringify({ withPulses, withoutPulses })}`);
  const one: number[] = [];
  const two: number[] = [];
  const handed: Handed[] = [];
  const bare: number[] = [];
  for (const run of runs) {
    one.push(await readings(stack, 1, pulses));
    two.push(await readings(stack, 2, pulses));
    bare.push(await bareSends(stack, { pulses, batch, bytes: size?.bytes ?? 0 }));
    const over = await handOvers(stack, pulses);
    handed.push(over);
    say(
      `run ${run}: read and encoded ${one.at(-1)}/s by one, ${two.at(-1)}/s by two; handed over ${over.perSecond}/s in ${over.ms} ms, bare sends ${bare.at(-1)}/s, ${over.walPerPulse} B of WAL each`,
    );
  }
  // To measure three hundred thousand a second, three hundred thousand are due in the same second.
  await stack.sql`update carillon.pulses set every_s = 1, offset_s = 0`;
  await stack.sql`vacuum (full, analyze) carillon.pulses`;
  const sameSecond: number[] = [];
  for (const _ of runs) sameSecond.push(await readings(stack, 2, pulses, 1));
  say(`all of the same second read and encoded by two: ${sameSecond.join(", ")}/s`);
  const of = (name: keyof Handed) => median(handed.map((each) => each[name]));
  return {
    perSecond: median(sameSecond),
    readPerSecond: { byOne: median(one), byTwo: median(two), sameSecond: median(sameSecond) },
    handedOver: { perSecond: of("perSecond"), ms: of("ms"), walPerPulse: of("walPerPulse") },
    bareSendsPerSecond: median(bare),
    crudPerSecond: crud,
    tickMs: { withPulses, withoutPulses },
    pulses,
    batch,
    bytes: size?.bytes,
    ...measuredOn(stack),
  };
}

interface TickMs {
  /** The time of the work, including the sending. */
  all: number;
  /** The time in the database alone. */
  database: number;
}

/**
 * A tick's work for pulses: it makes the parcels of one more minute of all shards with a pulse, and
 * sends them.
 */
async function tickMs({ sql, queue }: BenchStack, runs: readonly number[]): Promise<TickMs> {
  const all: number[] = [];
  const database: number[] = [];
  const aMinuteBack = async () => {
    await sql`delete from carillon.parcels where pulse_at is not null`;
    await sql`
      update carillon.shards set pulsed_to = date_trunc('second', carillon.clock()) + interval '120 seconds'
      where exists (select from carillon.pulses)`;
  };
  for (const _ of runs) {
    await tick({ sql, queue, log: silentLog }, tickDefaults, () => false);
    await aMinuteBack();
    const startedAt = performance.now();
    const sending: Promise<unknown>[] = [];
    await makePulseParcels({ sql, log: silentLog }, wholeTick, (parcels) =>
      sending.push(handOver(sql, queue, parcels)),
    );
    await Promise.all(sending);
    all.push(performance.now() - startedAt);
    await aMinuteBack();
    const againAt = performance.now();
    for (let shard = 0; shard < shardCount; shard++)
      await sql`select count(*) from carillon.make_pulse_parcels(${shard}, ${horizonMs}, ${missedAfterMs}, 2000)`;
    database.push(performance.now() - againAt);
  }
  const tenths = (values: readonly number[]) => Math.round(median(values) * 10) / 10;
  return { all: tenths(all), database: tenths(database) };
}

interface Crud {
  create: number;
  patch: number;
  delete: number;
}

/** Creates all pulses, changes a part of them, and deletes as many as that made again. */
async function edits(stack: BenchStack, { pulses, batch }: { pulses: number; batch: number }): Promise<Crud> {
  await using callers = await batchCallers(stack.env, bearer, 2);
  const rate = async (count: number, operation: (n: number) => object) => {
    const batches = Array.from({ length: count / batchOf }, (_, at) =>
      Array.from({ length: batchOf }, (_, n) => operation(at * batchOf + n)),
    );
    return perSecond(count, await callers.send(batches, 2));
  };
  const put = (key: string, n: number) => ({
    put: {
      key,
      when: "every 1m",
      delivery: "pulse",
      target: { queue: queueName, batch },
      payload: { device: n, what: "poll" },
    },
  });
  const some = Math.min(pulses, 20 * batchOf);
  const create = await rate(pulses, (n) => put(`device:${n}`, n));
  const patch = await rate(some, (n) => ({
    patch: { key: `device:${n}`, payload: { device: n, what: "ask" } },
  }));
  await rate(some, (n) => put(`other:${n}`, n));
  return { create, patch, delete: await rate(some, (n) => ({ delete: `other:${n}` })) };
}

/** Reads this many seconds of every shard, divided among this many readers. */
async function readings(
  stack: BenchStack,
  readers: number,
  pulses: number,
  seconds = periodSeconds,
): Promise<number> {
  const from = Math.floor(Date.now() / 1_000) + 600;
  const all = Array.from({ length: seconds * shardCount }, (_, n): [number, number] => [
    n % shardCount,
    from + Math.floor(n / shardCount),
  ]);
  const tasks = Array.from({ length: readers }, (_, reader) => ({
    does: "read" as const,
    seconds: all.filter((_, index) => index % readers === reader),
  }));
  const { done, ms } = await runThreads(stack.env, tasks);
  if (done !== pulses) throw new Error(`${done} pulses were read, not ${pulses}.`);
  return perSecond(done, ms);
}

interface Handed {
  perSecond: number;
  ms: number;
  walPerPulse: number;
}

/**
 * One minute of due pulses: from the tick that makes its parcels to the last message that the
 * emulator accepted.
 */
async function handOvers(stack: BenchStack, pulses: number): Promise<Handed> {
  const { sql, queue } = stack;
  await sql`delete from carillon.parcels`;
  await sql`checkpoint`;
  await sql`update carillon.shards set pulsed_to = date_trunc('second', carillon.clock()) - interval '60 seconds'`;
  const walBefore = await stack.walBytes();
  const startedAt = Date.now();
  // Like a tick, but only for parcels due until now: those sent ahead would keep the workers
  // waiting.
  const parcels = await sql<OutgoingParcel[]>`
    select p.id, 'fast' as queue, p.wait_ms as "waitMs"
    from generate_series(0, ${shardCount - 1}::int) shard cross join lateral carillon.make_pulse_parcels(shard, 0, ${missedAfterMs}, 2000) p`;
  await handOver(sql, queue, parcels);
  const tickedMs = Date.now() - startedAt;
  const { done, ms } = await runThreads(stack.env, [{ does: "work" }, { does: "work" }]);
  const wal = (await stack.walBytes()) - walBefore;
  if (done < pulses) throw new Error(`${done} pulses were handed over, not ${pulses}.`);
  const all = tickedMs + ms;
  return { perSecond: perSecond(done, all), ms: all, walPerPulse: Math.round((wal / done) * 10) / 10 };
}

/**
 * The emulator alone: the same number of messages of the same size from the same number of threads.
 */
async function bareSends(
  stack: BenchStack,
  { pulses, batch, bytes }: { pulses: number; batch: number; bytes: number },
): Promise<number> {
  const perMessage = Math.min(
    batch,
    Math.ceil(pulses / periodSeconds / shardCount),
    Math.floor(240_000 / bytes),
  );
  const messages = Math.ceil(pulses / perMessage / 2);
  const task = { does: "send" as const, queue: queueName, bytes: perMessage * bytes, messages };
  const { done, ms } = await runThreads(stack.env, [task, task]);
  return perSecond(done * perMessage, ms);
}

const shown = z.object({
  readPerSecond: z.object({ byOne: z.number(), byTwo: z.number(), sameSecond: z.number() }),
  handedOver: z.object({ perSecond: z.number(), ms: z.number(), walPerPulse: z.number() }),
  bareSendsPerSecond: z.number(),
  crudPerSecond: z.object({ create: z.number(), patch: z.number(), delete: z.number() }),
  tickMs: z.object({
    withPulses: z.object({ all: z.number(), database: z.number() }),
    withoutPulses: z.object({ all: z.number(), database: z.number() }),
  }),
  pulses: z.number(),
  batch: z.number(),
  bytes: z.number(),
});

export function page(figures: Figures): string {
  const { readPerSecond, handedOver, bareSendsPerSecond, crudPerSecond, tickMs, pulses, batch, bytes } =
    shown.parse(figures);
  const n = (value: number) => value.toLocaleString("en");
  return `${n(pulses)} pulses that are due within one minute, envelopes of ${n(bytes)} bytes, scattered over the table by their keys, in a queue target with \`batch: ${batch}\`.

| what | figure |
|---|---|
| read and encoded, nothing sent, by one reader | ${n(readPerSecond.byOne)}/s |
| the same, by two | ${n(readPerSecond.byTwo)}/s |
| the same, all of them in one second | ${n(readPerSecond.sameSecond)}/s |
| handed over in batches, from the tick to the last message taken | ${n(handedOver.perSecond)}/s (${n(handedOver.ms)} ms) |
| the emulator by itself, messages of the same size from as many threads | ${n(bareSendsPerSecond)}/s |
| WAL for each pulse sent, including parcels and sums | ${n(handedOver.walPerPulse)} bytes |
| created over the API, by thousands, two callers | ${n(crudPerSecond.create)}/s |
| their payload changed | ${n(crudPerSecond.patch)}/s |
| deleted | ${n(crudPerSecond.delete)}/s |
| a minute's parcels of all shards made by a tick, and sent | ${n(tickMs.withPulses.database)} ms, and ${n(tickMs.withPulses.all)} ms |
| the same without any pulse | ${n(tickMs.withoutPulses.all)} ms |

A reader and a worker is a thread of two invocations, each with a connection of its own, all on one machine with Postgres and the emulator. Reading is limited by Postgres, which fetches each pulse from its own page;
handing over is limited by the emulator and by Node, which wraps each body into a request. In AWS a batch is one request to SQS.`;
}
