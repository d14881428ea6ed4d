import { putSchedule } from "../../lib/edit/schedule-edits.ts";
import { silentLog } from "../../lib/log/log.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { bringNear } from "../../lib/tick/housekeeping/bring-near.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type BenchStack, benchStack, measuredOn } from "./bench-stack.ts";
import { type Figures, machine, median, number, type Options, perSecond, type Say } from "./report.ts";
import { seedSchedules } from "./seed.ts";
import { walUse } from "./wal-use.ts";

export const does =
  "a day's rows move from the far table into the near plan, while schedules are created and edited";

export const options = { schedules: "300000", rows: "1000000", step: "2500,10000", editors: "2" };

interface Waits {
  edits: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

interface Moved {
  step: number;
  rows: number;
  seconds: number;
  perSecond: number;
  walPerRow: number;
  waits: Waits;
}

export interface MoveFigures extends Figures {
  idle: Waits;
  moves: Moved[];
  schedules: number;
}

export async function bench(options: Options, say: Say): Promise<MoveFigures> {
  const schedules = number(options, "schedules");
  const rows = number(options, "rows");
  const editors = number(options, "editors");
  const steps = (options["step"] ?? "").split(",").map((step) => number({ step }, "step"));
  say(machine());
  await using stack = await benchStack(options["data-dir"], editors + 2);
  await seedSchedules(stack.sql, schedules, say);
  await tick({ sql: stack.sql, queue: stack.queue, log: silentLog }, tickDefaults, () => false);
  const idle = await waitsDuring(stack, editors, () => new Promise((resolve) => setTimeout(resolve, 5_000)));
  say(`edits alone: p50 ${idle.p50Ms} ms, p99 ${idle.p99Ms} ms`);
  const moves: Moved[] = [];
  for (const step of steps) {
    await storeFarDay(stack, rows);
    await stack.sql`checkpoint`;
    const wal = await walUse(stack.sql);
    let seconds = 0;
    const waits = await waitsDuring(stack, editors, async () => {
      const startedAt = performance.now();
      for (let shard = 0; shard < shardCount; shard++)
        while ((await bringNear(stack.sql, shard, { rowsMax: step })).more);
      seconds = (performance.now() - startedAt) / 1_000;
    });
    const used = await wal.end();
    const [{ left } = { left: rows }] = await stack.sql<{ left: number }[]>`
      select count(*)::int as left from carillon.plan_far where due_at < (select min(near_until) from carillon.shards)`;
    if (left > 0) throw new Error(`${left} rows were left before the near line.`);
    const moved = {
      step,
      rows,
      seconds: Number(seconds.toFixed(1)),
      perSecond: perSecond(rows, seconds * 1_000),
      walPerRow: Math.round(used.bytes / rows),
      waits,
    };
    say(
      `steps of ${step}: ${moved.perSecond.toLocaleString("en")} rows/s, ${moved.walPerRow} B WAL each; edits meanwhile p50 ${waits.p50Ms} ms, p99 ${waits.p99Ms} ms, at most ${waits.maxMs} ms`,
    );
    moves.push(moved);
  }
  return { idle, moves, schedules, ...measuredOn(stack) };
}

/**
 * Moves the border between near and far plan back by a day, and stores rows of that day in the far
 * plan, as they are the night before.
 */
async function storeFarDay({ sql }: BenchStack, rows: number): Promise<void> {
  await sql`update carillon.shards set near_until = near_until - interval '1 day'`;
  await sql`
    insert into carillon.plan_far (due_at, occurrence, schedule_id, every_ms, version, shard)
    select at, at, id, 86400000, 1, id % ${shardCount}::int
    from (select min(near_until) as line from carillon.shards) shards, generate_series(1, ${rows}::bigint) id,
      lateral (select line + random() * interval '86399 seconds' as at) due`;
  await sql`vacuum (analyze) carillon.plan_far`;
}

/**
 * The times of puts of schedules in all shards, from this many sequential callers, while `act`
 * runs.
 */
async function waitsDuring(
  { sql, queue }: BenchStack,
  editors: number,
  act: () => Promise<unknown>,
): Promise<Waits> {
  const took: number[] = [];
  let over = false;
  const editor = async (_: unknown, index: number) => {
    for (let n = 0; !over; n++) {
      const body = parseScheduleBody({ when: `every ${1 + (n % 50)}h`, target: { queue: "bench" } });
      const startedAt = performance.now();
      await putSchedule(
        { sql, queue },
        { key: `move-in:${index}:${n % 200}`, body, caller: { name: "bench" } },
      );
      took.push(performance.now() - startedAt);
    }
  };
  const editing = Promise.all(Array.from({ length: editors }, editor));
  try {
    await act();
  } finally {
    over = true;
  }
  await editing;
  const sorted = took.sort((a, b) => a - b);
  const at = (part: number) => Number((sorted[Math.floor(sorted.length * part)] ?? Number.NaN).toFixed(1));
  return {
    edits: took.length,
    p50Ms: Number(median(took).toFixed(1)),
    p99Ms: at(0.99),
    maxMs: at(1 - 1 / sorted.length),
  };
}

export function page({ idle, moves, schedules }: MoveFigures): string {
  const waits = ({ edits, p50Ms, p99Ms, maxMs }: Waits) =>
    `${edits.toLocaleString("en")} | ${p50Ms} | ${p99Ms} | ${maxMs}`;
  const rows = moves.map(
    ({ step, rows: of, seconds, perSecond: rate, walPerRow, waits: meanwhile }) =>
      `| ${of.toLocaleString("en")} in steps of ${step.toLocaleString("en")} | ${seconds} | ${rate.toLocaleString("en")} | ${walPerRow} | ${waits(meanwhile)} |`,
  );
  return `Once a day the rows that are due three days ahead move from the far table into the near plan, a step at a time, each under its shard's plan lock. Meanwhile callers put schedules (new ones, and others changed), each after its last; ${schedules.toLocaleString("en")} schedules are stored.

| moved | seconds | rows/s | WAL, bytes a row | puts meanwhile | p50, ms | p99, ms | longest, ms |
|---|---|---|---|---|---|---|---|
| nothing | | | | ${waits(idle)} |
${rows.join("\n")}`;
}
