import { connect, type Sql } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { ClaimedJob } from "../../lib/parcel/claim.ts";
import type { ParcelQueue } from "../../lib/parcel/parcel-queue.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import type { EditDeps, EditDone } from "../../lib/plan/edit-transaction.ts";
import { type Delivery, type DeliveryContext, done, failed } from "../../lib/target/delivery.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import { type ClaimRecorder, claimRecorder, nameOf } from "../race/claims.ts";
import { type Acknowledged, judge } from "../race/judge.ts";
import { readLedger } from "../race/ledger.ts";
import { connectThrough, type WrapLine } from "../race/lines.ts";
import { type MemoryQueues, memoryQueues, recordOf } from "../race/memory-queues.ts";
import { aborted, neverRings } from "../support/aborted.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type DatabaseClock, databaseClock } from "../support/database-clock.ts";
import { answerOf, writesItself } from "./answers.ts";
import { judgeBeside, makeEffects } from "./beside.ts";
import { type Fuse, type FusedProcess, fuse, type Moment } from "./fuse.ts";

/** The shard of every schedule here; the other fifteen are planned far ahead, so that a tick passes them by. */
export const shard = 1;
const start = "2027-03-01T10:00:07.250Z";
const timeLeftMs = 20_000;

export interface Worker {
  /** Keys whose delivery the target refuses, as often as it is asked before it gives in. */
  refuses?: ReadonlyMap<string, number>;
  /** Dies as soon as it has claimed. */
  dies?: boolean;
}

export interface CrashWorld {
  clock: DatabaseClock;
  queues: MemoryQueues;
  /** From here on operations are counted, and the moment of death may come. */
  fuse: Fuse;
  light(): Promise<void>;
  edit(name: string, change: (deps: EditDeps) => Promise<EditDone | undefined>): Promise<void>;
  tick(): Promise<void>;
  work(worker?: Worker): Promise<void>;
  /** Ordinary ticks and workers until everything due is settled. Returns how many minutes that took, or null. */
  heal(): Promise<number | null>;
  /** What the oracle finds broken. */
  verdict(effectMayRepeat: boolean): Promise<string[]>;
  close(): Promise<void>;
}

interface Process extends FusedProcess {
  sql: Sql;
  /** For the handlers' own. */
  transactions: Sql;
  sender: ParcelQueue;
}

/** What every world of a test begins with. It is made once and cloned, for a test plays dozens of worlds. */
export async function crashDatabase(): Promise<TestDatabase> {
  const database = await testDatabase();
  const sql = connect({ DATABASE_URL: database.url });
  await databaseClock(sql, start);
  await onlyOneShard(sql);
  await makeEffects(sql);
  await sql.end();
  return database;
}

export async function crashWorld(of: TestDatabase, moment?: Moment): Promise<CrashWorld> {
  const database = await testDatabase(of);
  const side = connect({ DATABASE_URL: database.socketUrl }, { max: 1 });
  const clock = await databaseClock(side, start);
  const queues = memoryQueues(clock, 30_000);
  const recorder = claimRecorder(clock);
  const acknowledged: Acknowledged[] = [];
  const effects = new Map<string, number>();
  const refusals = new Map<string, number>();
  const unlit = fuse();
  const lit = fuse(moment);

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
    // What died is followed by another, which knows nothing of it.
    living = process(lit);
  };

  let end = clock.now();
  const world: CrashWorld = {
    clock,
    queues,
    fuse: lit,
    light: async () => {
      await Promise.all([living.sql.end(), living.transactions.end()]);
      living = process(lit);
    },
    edit: (name, change) =>
      inProcess(name, async ({ sql, sender }) => {
        const made = await change({ sql, queue: sender });
        if (made !== undefined)
          acknowledged.push({ scheduleId: made.schedule.id, version: made.schedule.version });
      }),
    tick: () =>
      inProcess("tick", async ({ sql, sender }) => {
        const settings = { ...tickDefaults, batchMax: 3, lanes: 1 };
        await tick({ sql, queue: sender, log: silentLog }, settings, () => false);
      }),
    work: (worker = {}) => workAll(inProcess, { clock, queues, recorder, effects, refusals, side }, worker),
    heal: () => {
      // What falls due while healing goes on need not be done when it ends.
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
      return [...violations, ...(await judgeBeside(side))];
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

type InProcess = (name: string, act: (process: Process) => Promise<void>) => Promise<void>;

interface WorkParts {
  clock: DatabaseClock;
  queues: MemoryQueues;
  recorder: ClaimRecorder;
  effects: Map<string, number>;
  refusals: Map<string, number>;
  side: Sql;
}

/** One invocation per message, as long as there are any. */
async function workAll(inProcess: InProcess, parts: WorkParts, worker: Worker): Promise<void> {
  const { clock, queues } = parts;
  for (let [message] = queues.receive(1); message !== undefined; [message] = queues.receive(1)) {
    const received = message;
    await inProcess("worker", async (process) => {
      const { sql, transactions, sender, deliver, operation, isDead } = process;
      // Time goes on while it waits.
      const waiting = {
        now: clock.now,
        sleep: (ms: number, signal?: AbortSignal) =>
          signal === undefined ? clock.advance(ms) : aborted(signal),
        alarm: neverRings,
      };
      const target = { sql, transactions, queue: sender, clock: waiting, side: parts.side };
      const answer = (job: ClaimedJob, context: DeliveryContext) =>
        answerAsTold(job, parts, worker, () => answerOf(job, context, target));
      const deps = {
        sql,
        queue: sender,
        log: silentLog,
        random: () => 0,
        clock: waiting,
        notify: notifyByDefault,
        window: null,
        deliver: deliver((jobs, context) => {
          if (worker.dies === true) throw new Error("This worker dies.");
          const each = (job: ClaimedJob) => answer(job, context);
          return Promise.all(jobs.map(each));
        }),
      };
      const { batchItemFailures } = await workMessages(deps, [recordOf(received)], () => timeLeftMs);
      if (isDead() || batchItemFailures.length > 0) return;
      await operation("delete message", async () => {
        queues.remove(received);
      });
    });
  }
}

/** What the target says of a job, and what that means for the world outside. */
async function answerAsTold(
  job: ClaimedJob,
  { recorder, effects, refusals }: WorkParts,
  { refuses }: Worker,
  answered: () => Promise<Delivery | null>,
): Promise<Delivery> {
  const refused = refusals.get(job.key) ?? 0;
  if (refused < (refuses?.get(job.key) ?? 0)) {
    refusals.set(job.key, refused + 1);
    return failed("The target refused.");
  }
  const name = nameOf(job.scheduleId, job.occurrence.getTime());
  if (writesItself(job)) effects.set(name, 1);
  const answer = (await answered()) ?? done;
  if (answer.kind === "failed" || answer.kind === "cancelled" || answer.kind === "back") return answer;
  recorder.tookDelivery(job);
  // Rechecks have rules of their own.
  if (job.kind === "cadence" && !writesItself(job)) effects.set(name, (effects.get(name) ?? 0) + 1);
  return answer;
}

const healStepMs = 15_000;
const healMinutesMax = 30;

async function heal(sql: Sql, world: CrashWorld): Promise<number | null> {
  const until = world.clock.now();
  for (let step = 0; step < healMinutesMax * 4; step++) {
    if (step % 4 === 0) await world.tick();
    await world.work();
    const [row] = await sql<{ healed: boolean }[]>`
      select not exists (
        select from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
        where j.state = 'waiting' and j.due_at <= ${until} and (s.held_since is null or s.held_until <= carillon.clock() or s.deleted_at is not null)) as healed`;
    if (row?.healed === true) return step / 4;
    await world.clock.advance(healStepMs);
  }
  return null;
}
