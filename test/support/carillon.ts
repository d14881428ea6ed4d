import type { Clock } from "../../lib/clock.ts";
import type { Sql } from "../../lib/db/connect.ts";
import type { EditDone } from "../../lib/edit/edit-transaction.ts";
import { deleteSchedule, patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule, resumeSchedule } from "../../lib/edit/schedule-holds.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Delivery, done } from "../../lib/target/delivery.ts";
import type { TickDeps, Ticked, TickSettings } from "../../lib/tick/run.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { Activity } from "../../lib/tools/testing/activity.ts";
import { countedSql } from "../../lib/tools/testing/counted-sql.ts";
import { type MemoryQueue, memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { workMessages } from "../../lib/worker/worker.ts";
import type { WorkerDeps } from "../../lib/worker/worker-deps.ts";
import { aborted } from "./aborted.ts";
import { type TestDatabase, testDatabase } from "./database.ts";
import { monday } from "./instants.ts";
import { type RecordedLog, recordedLog } from "./recorded-log.ts";

export interface StoredJob {
  key: string;
  occurrence: Date;
  dueAt: Date;
  state: string;
  reason: string | null;
  attempt: number;
  version: number;
  /** The parcel in which it waits. */
  parcelId: string | null;
  readyAt: Date | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  error: string | null;
}

export interface Delivered {
  key: string;
  occurrence: string;
  at: string;
  attempt: number;
  payload: unknown;
}

/**
 * A Carillon for one test: a database whose clock stands still, queues in memory, and each phase on
 * demand.
 */
export interface Carillon {
  databaseUrl: string;
  /** Connected as the owner. */
  sql: Sql;
  /** Whether statements of the owner are under way. */
  activity: Activity;
  /** Connections with the roles of the functions. */
  as: { tick: Sql; worker: Sql; api: Sql };
  /** Further dependencies of ticks and workers; a test replaces them. */
  more: { tick: Partial<TickDeps>; worker: Partial<WorkerDeps> };
  clock: DatabaseClock;
  queue: MemoryQueue;
  log: RecordedLog;
  put(key: string, body: object, as?: string): Promise<EditDone>;
  patch(key: string, patch: object, as?: string): Promise<EditDone>;
  pause(key: string, params?: { owner?: string; until?: Date; reason?: string }): Promise<EditDone>;
  resume(key: string, owner?: string): Promise<EditDone>;
  remove(key: string): Promise<void>;
  tick(settings?: Partial<TickSettings>): Promise<Ticked>;
  /**
   * Works every visible message, and those that this work makes visible at once; the clock stands
   * still. Returns the messages that stay on the queue.
   */
  work(timeLeftMs?: number): Promise<string[]>;
  /** How deliveries end; a test replaces it. */
  outcome: (job: ClaimedJob) => Delivery | Promise<Delivery>;
  /** The number of parcels of one slow target that may be worked at once; a test replaces it. */
  window: number | null;
  delivered: Delivered[];
  /** The stored rows, in the order of occurrences. */
  jobs(key?: string): Promise<StoredJob[]>;
  stop(): Promise<void>;
}

const author = "ann";

export async function carillon({
  start = monday,
  roles,
  copyOf,
}: {
  start?: string;
  roles?: RoleUrls;
  /** A database that another test Carillon with the same start time has filled. */
  copyOf?: TestDatabase;
} = {}): Promise<Carillon> {
  const database = await testDatabase(copyOf ?? "still");
  const activity = new Activity();
  const sql = countedSql(database.socketUrl, activity, { max: 4 });
  const clock = await databaseClock(sql, start);
  const log = recordedLog();
  const queue = memoryQueue(clock, log);
  const own = roles === undefined ? undefined : await roles(sql, database.socketUrl);
  const as = { tick: own?.tick ?? sql, worker: own?.worker ?? sql, api: own?.api ?? sql };
  const edits = { sql: as.api, queue };

  const world: Carillon = {
    databaseUrl: database.url,
    sql,
    activity,
    as,
    more: { tick: {}, worker: {} },
    clock,
    queue,
    log,
    put: (key, body, name = author) =>
      putSchedule(edits, {
        key,
        body: parseScheduleBody({ target: { queue: "demo" }, ...body }),
        caller: { name },
      }),
    patch: (key, patch, name = author) => patchSchedule(edits, { key, patch, caller: { name } }),
    pause: (key, params = {}) => pauseSchedule(edits, { key, caller: { name: author }, ...params }),
    resume: (key, owner) => resumeSchedule(edits, { key, owner, caller: { name: author } }),
    remove: (key) => deleteSchedule(edits, { key, caller: { name: author } }),
    tick: (settings = {}) =>
      tick({ sql: as.tick, queue, log, ...world.more.tick }, { ...tickDefaults, ...settings }, () => false),
    work: (timeLeftMs = 60_000) => work(world, as.worker, timeLeftMs),
    outcome: () => done,
    window: null,
    delivered: [],
    jobs: (key) => storedJobs(sql, key),
    stop: async () => {
      queue.sqs.destroy();
      for (const each of new Set([sql, ...Object.values(as)])) await each.end();
      await database.drop();
    },
  };
  return world;
}

/** Makes the connections for each function of the test's Carillon. */
export type RoleUrls = (owner: Sql, databaseUrl: string) => Promise<{ tick: Sql; worker: Sql; api: Sql }>;

const batchMax = 10;

async function work(world: Carillon, sql: Sql, timeLeftMs: number): Promise<string[]> {
  const { clock, queue, log } = world;
  // A worker that waits out the last second before a parcel is ready moves the clock.
  const waiting: Clock = {
    now: clock.now,
    sleep: (ms, signal) => (signal === undefined ? clock.advance(ms) : aborted(signal)),
  };
  const deliver = (jobs: readonly ClaimedJob[]) =>
    Promise.all(
      jobs.map(async (job) => {
        const { key, occurrence, attempt, payload } = job;
        const at = clock.now().toISOString();
        world.delivered.push({
          key,
          occurrence: occurrence.toISOString(),
          at,
          attempt: attempt + 1,
          payload,
        });
        return world.outcome(job);
      }),
    );
  const deps = {
    sql,
    queue,
    deliver,
    clock: waiting,
    log,
    random: () => 1,
    notify: notifyByDefault,
    window: world.window,
    ...world.more.worker,
  };
  const stay: string[] = [];
  for (;;) {
    const records = [...queue.take("fast"), ...queue.take("slow")];
    if (records.length === 0) return stay;
    for (let from = 0; from < records.length; from += batchMax) {
      const batch = records.slice(from, from + batchMax);
      const { batchItemFailures } = await workMessages(deps, batch, () => timeLeftMs);
      const failed = new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      stay.push(...batch.filter(({ messageId }) => failed.has(messageId)).map(({ body }) => body));
    }
  }
}

async function storedJobs(sql: Sql, key: string | undefined): Promise<StoredJob[]> {
  return sql<StoredJob[]>`
    select s.key, j.occurrence, j.due_at as "dueAt", j.state, j.reason, j.attempt, j.version,
      case when j.state = 'waiting' then j.parcel_id end as "parcelId",
      j.ready_at as "readyAt", j.started_at as "startedAt", j.finished_at as "finishedAt", j.error
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    ${key === undefined ? sql`` : sql`where s.key = ${key}`}
    order by j.occurrence, s.key, s.id`;
}
