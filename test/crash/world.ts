import { connect, type Sql } from "../../lib/db/connect.ts";
import type { EditDeps, EditDone } from "../../lib/edit/edit-transaction.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ParcelQueue } from "../../lib/parcel/parcel-queue.ts";
import type { TickDeps, TickSettings } from "../../lib/tick/run.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { claimRecorder, nameOf } from "../race/claims.ts";
import { type Acknowledged, judge } from "../race/judge.ts";
import { readLedger } from "../race/ledger.ts";
import { connectThrough, type WrapLine } from "../race/lines.ts";
import { type MemoryQueues, memoryQueues } from "../race/memory-queues.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { entriesLeft, judgeAside, makeCommands } from "./aside.ts";
import { judgeBeside, makeEffects } from "./beside.ts";
import { type Fuse, type FusedProcess, fuse, type Moment } from "./fuse.ts";
import { heal } from "./heal.ts";
import { workAll } from "./work.ts";

/**
 * The shard of every schedule here; the other fifteen are planned far ahead, so that a tick skips
 * them.
 */
export const shard = 1;
const start = "2027-03-01T10:00:07.250Z";

export interface Worker {
  /** For some keys, how many deliveries the target refuses before it accepts one. */
  refuses?: ReadonlyMap<string, number>;
  /** Dies right after its claim. */
  dies?: boolean;
}

export interface CrashWorld {
  clock: DatabaseClock;
  queues: MemoryQueues;
  /** One for each death; each is armed after the one before it has killed a process. */
  fuses: readonly Fuse[];
  /** From here on operations are counted, and a process may die. */
  light(): Promise<void>;
  /** Additional parameters of ticks. */
  more: { tick: Partial<TickDeps>; settings: Partial<TickSettings> };
  /** Runs outside of all processes: it is not counted, and no process dies at it. */
  beside(act: (sql: Sql) => PromiseLike<unknown>): Promise<void>;
  edit(name: string, change: (deps: EditDeps) => Promise<EditDone | undefined>): Promise<void>;
  tick(): Promise<void>;
  work(worker?: Worker): Promise<void>;
  /** The rules that are broken at this moment, although work remains. */
  brokenNow(): Promise<string[]>;
  heal(): Promise<number | null>;
  /** The rules that the oracle finds broken. */
  verdict(effectMayRepeat: boolean): Promise<string[]>;
  close(): Promise<void>;
}

export interface Process extends FusedProcess {
  sql: Sql;
  /** Connections for the transactions of handlers. */
  transactions: Sql;
  sender: ParcelQueue;
}

/**
 * The template of every world in a test. It is made once and cloned, because a test plays dozens of
 * worlds.
 */
export async function crashDatabase(): Promise<TestDatabase> {
  const database = await testDatabase();
  const sql = connect({ DATABASE_URL: database.url });
  await databaseClock(sql, start);
  await onlyOneShard(sql);
  await makeEffects(sql);
  await makeCommands(sql);
  await sql.end();
  return database;
}

/** Takes a moment for each death; undefined for a death that never happens. */
export async function crashWorld(
  of: TestDatabase,
  moments: readonly (Moment | undefined)[] = [undefined],
): Promise<CrashWorld> {
  const database = await testDatabase(of);
  const side = connect({ DATABASE_URL: database.socketUrl }, { max: 1 });
  const clock = await databaseClock(side, start);
  const queues = memoryQueues(clock, 30_000);
  const recorder = claimRecorder(clock);
  const acknowledged: Acknowledged[] = [];
  const effects = new Map<string, number>();
  const refusals = new Map<string, number>();
  const unlit = fuse();
  const fuses = moments.map((moment) => fuse(moment));
  const burning = () => fuses.find((each) => !each.isBlown()) ?? unlit;

  const process = (of: Fuse): Process => {
    const fused = of.process();
    const wrap: WrapLine = (line, onLost) => recorder.wrap(fused.wrap(line, onLost), onLost);
    const [sql, transactions] = [connectThrough(database.url, wrap), connectThrough(database.url, wrap)];
    return { ...fused, sql, transactions, sender: fused.queue(queues.sender()) };
  };
  let living = process(unlit);

  const inProcess = async (task: string, act: (process: Process) => Promise<void>) => {
    living.begin(task);
    try {
      await act(living);
    } catch (error) {
      if (!living.isDead()) throw error;
    }
    if (!living.isDead()) return;
    await Promise.all([living.sql.end(), living.transactions.end(), living.closed()]);
    // A dead process is followed by a new one, which has no knowledge of it.
    living = process(burning());
  };

  let end = clock.now();
  const world: CrashWorld = {
    clock,
    queues,
    fuses,
    more: { tick: {}, settings: {} },
    light: async () => {
      await Promise.all([living.sql.end(), living.transactions.end()]);
      living = process(burning());
    },
    beside: async (act) => {
      await act(side);
    },
    edit: (name, change) =>
      inProcess(name, async ({ sql, sender }) => {
        const made = await change({ sql, queue: sender });
        if (made !== undefined)
          acknowledged.push({ scheduleId: made.schedule.id, version: made.schedule.version });
      }),
    tick: () =>
      inProcess("tick", async ({ sql, sender }) => {
        const settings = { ...tickDefaults, batchMax: 3, lanes: 1, ...world.more.settings };
        await tick({ sql, queue: sender, log: silentLog, ...world.more.tick }, settings, () => false);
      }),
    work: (worker = {}) => workAll(inProcess, { clock, queues, recorder, effects, refusals, side }, worker),
    brokenNow: () => judgeAside(side),
    heal: () => {
      // Jobs that become due during the healing need not be done at its end.
      end = clock.now();
      return heal(side, world);
    },
    verdict: async (effectMayRepeat) => {
      const ledger = await readLedger(side, end);
      const { violations } = judge(ledger, { claims: recorder.claims, acknowledged }, end.getTime(), 0);
      for (const { scheduleId, occurrence, state } of ledger.jobs) {
        const name = nameOf(scheduleId, occurrence);
        const count = effects.get(name) ?? 0;
        if (state === "succeeded" && count === 0) violations.push(`succeeded without an effect: ${name}`);
        if (count > 1 && !effectMayRepeat) violations.push(`${count} effects: ${name}`);
      }
      return [
        ...violations,
        ...(await judgeBeside(side)),
        ...(await judgeAside(side)),
        ...(await entriesLeft(side)),
      ];
    },
    close: async () => {
      await Promise.all([living.sql.end(), living.transactions.end(), side.end()]);
      await database.drop();
    },
  };
  return world;
}

async function onlyOneShard(sql: Sql): Promise<void> {
  await sql`alter table carillon.schedules alter column id set increment by 16`;
  await sql`update carillon.shards set watermark_at = '2099-01-01', near_until = '2099-01-01' where id <> ${shard}`;
}
