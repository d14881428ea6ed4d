import { durationMs } from "../../cadence/duration.ts";
import type {
  Carillon,
  Edited,
  Explanation,
  Job,
  Json,
  ScheduleBody,
  SchedulePatch,
} from "../../client/main.ts";
import type { JobHandler } from "../../job/define-job.ts";
import { silentLog, textLog } from "../../log/log.ts";
import { Course } from "./advance.ts";
import { Faults } from "./faults.ts";
import { instantOf } from "./instant-of.ts";
import { Ledger } from "./ledger.ts";
import { borrowDatabase } from "./server/borrow-database.ts";
import type { Delivery, Notice, Run, TestJob } from "./shapes.ts";
import { makeWorld, type World } from "./world.ts";

export type { Delivery, Envelope, Notice, Run, TestJob } from "./shapes.ts";

export interface TestCarillonOptions {
  /** Where the clock stands at first; the default is 2027-01-01T00:00:00Z. */
  now?: Date | string;
  /** The handlers of the app, as its deployment has them. */
  handlers?: readonly JobHandler[];
  /**
   * `minutes` runs the tick of every minute; by default only those that have something to do run,
   * which gives the same jobs at the same times.
   */
  pace?: "leaps" | "minutes";
  /** `text` writes each line of Carillon's log to the console. */
  log?: "silent" | "text";
  /** The admin token of the API; by default `test-kit`. */
  token?: string;
  /**
   * Private addresses as `host:port`, separated by commas. Webhooks to them are sent for real, and
   * their answers count. By default nothing is sent.
   */
  webhookAllow?: string;
  /**
   * The sources of events that schedules may use, separated by commas, as the setting
   * `targetEventSources` of the deployment has them; the default is `carillon`.
   */
  eventSources?: string;
  /**
   * The targets that are kept for schedules whose keys begin with a prefix, as the setting
   * `targetPrefixes` of the deployment has them: `billing:=handler/charge`. By default none is.
   */
  targetPrefixes?: readonly string[];
}

/** The options with which a client reaches the API: `new Carillon(connection)`. */
export interface Connection {
  url: string;
  token: string;
  fetch: typeof globalThis.fetch;
}

/** A database for one Carillon, which is given back when it is stopped. */
export interface OwnDatabase {
  url: string;
  giveBack(): unknown;
}

const defaultToken = "test-kit";
const defaultNow = "2027-01-01T00:00:00Z";

/**
 * Carillon for a test: the real functions over a real database, on a clock that only the test moves.
 * Nothing leaves the process.
 */
export async function testCarillon(options: TestCarillonOptions = {}): Promise<TestCarillon> {
  return TestCarillon.over(await borrowDatabase(), options);
}

export class TestCarillon implements AsyncDisposable {
  readonly #world: World;
  readonly #course: Course;
  readonly #faults: Faults;
  readonly #ledger: Ledger;
  readonly #giveBack: () => unknown;

  private constructor(parts: {
    world: World;
    course: Course;
    faults: Faults;
    ledger: Ledger;
    giveBack: () => unknown;
  }) {
    this.#world = parts.world;
    this.#course = parts.course;
    this.#faults = parts.faults;
    this.#ledger = parts.ledger;
    this.#giveBack = parts.giveBack;
  }

  static async over(database: OwnDatabase, options: TestCarillonOptions): Promise<TestCarillon> {
    const start = instantOf(options.now ?? defaultNow);
    const faults = new Faults();
    const world = await makeWorld({
      databaseUrl: database.url,
      start,
      handlers: options.handlers ?? [],
      log: options.log === "text" ? textLog("test", () => world.clock.now()) : silentLog,
      token: options.token ?? defaultToken,
      webhookAllow: options.webhookAllow,
      eventSources: options.eventSources,
      targetPrefixes: options.targetPrefixes ?? [],
      takesMs: (key) => faults.takesMs(key),
      around: (deliver, { clock, sql }) => faults.around(deliver, clock, () => cutConnections(sql)),
      edited: () => ledger.read(world.clock.now()),
    });
    const ledger = new Ledger(world.sql, start);
    world.queue.fate = () => faults.fateOfMessage();
    const course = new Course(world, {
      mayLeap: () => options.pace !== "minutes" && !faults.areMessagesMeant(),
      eachDay: () => ledger.read(world.clock.now()),
    });
    return new TestCarillon({ world, course, faults, ledger, giveBack: () => database.giveBack() });
  }

  /** The client of the API, for everything that has no method here. */
  get client(): Carillon {
    return this.#world.client;
  }

  /** For code under test that makes a client of its own. Nothing listens at the URL: `fetch` leads there. */
  get connection(): Connection {
    return this.#world.connection;
  }

  now(): Date {
    return this.#world.clock.now();
  }

  put(key: string, body: ScheduleBody): Promise<Edited> {
    return this.client.schedules.put(key, body);
  }

  patch(key: string, patch: SchedulePatch): Promise<Edited> {
    return this.client.schedules.patch(key, patch);
  }

  delete(key: string): Promise<void> {
    return this.client.schedules.delete(key);
  }

  pause(key: string, params: { until?: string; reason?: string } = {}): Promise<Edited> {
    return this.client.schedules.pause(key, params);
  }

  resume(key: string): Promise<Edited> {
    return this.client.schedules.resume(key);
  }

  /** Makes a job beside the schedule, due now. */
  fire(key: string, params: { payload?: Json } = {}): Promise<Job> {
    return this.client.schedules.fire(key, params);
  }

  /** The outcome of an instant of a schedule, with the reason. */
  explain(key: string, at: Date | string): Promise<Explanation> {
    return this.client.schedules.explain(key, at);
  }

  /**
   * Lets time pass, for a duration such as `30d` or until an instant: ticks run each minute, jobs
   * when they are due, retries, rechecks and the ends of holds in their order.
   */
  async advance(to: string | Date): Promise<void> {
    const now = this.now().getTime();
    const ms = typeof to === "string" ? durationMs(to) : null;
    const end = ms === null ? instantOf(to).getTime() : now + ms;
    if (end < now)
      throw new Error(`The clock is at ${this.now().toISOString()} and does not go back to ${String(to)}.`);
    await this.#refuseUnknownKeys();
    await this.#course.to(end);
    await this.#ledger.read(this.now());
  }

  /** The jobs that are due by now, in the order of their occurrences, also those that the retention has dropped. */
  jobs(key?: string): TestJob[] {
    return this.#ledger.jobs(this.now(), key);
  }

  /** The attempts so far, in their order. */
  runs(key?: string): Run[] {
    return this.#faults.runs.filter((run) => key === undefined || run.key === key);
  }

  /** Everything that was sent to queues, buses, webhooks and functions, in its order. */
  deliveries(key?: string): Delivery[] {
    return this.#world.captured.deliveries.filter((each) => key === undefined || each.key === key);
  }

  /** Carillon's own events about jobs: by default those of dead ones. */
  notices(): Notice[] {
    return [...this.#world.captured.notices];
  }

  /** The next attempts of this schedule's jobs fail, without reaching their target. */
  failNext(
    key: string,
    {
      error = "Error: a test wanted it",
      times = 1,
    }: { error?: string | undefined; times?: number | undefined } = {},
  ): void {
    this.#faults.failNext({ key, error, times: countOf("failNext", times) });
  }

  /** How long handlers, webhooks and functions take, on the virtual clock: those of one schedule, or all. */
  handlerTakes(duration: string, key?: string): void {
    this.#faults.take(key, lengthOf(duration));
  }

  /** No tick runs for this long from now. Workers go on. */
  ticksMissing(duration: string): Promise<void> {
    return this.#course.missTicks(this.now().getTime() + lengthOf(duration));
  }

  /** The next messages between the tick and the workers arrive twice. */
  queueDuplicates(messages = 1): void {
    this.#faults.nextMessages("twice", countOf("queueDuplicates", messages));
  }

  /** The next messages between the tick and the workers are lost. */
  queueLoses(messages = 1): void {
    this.#faults.nextMessages("lost", countOf("queueLoses", messages));
  }

  /** The next workers die after their targets have received everything, before they can say so. */
  workerDies(times = 1): void {
    this.#faults.killNext(countOf("workerDies", times));
  }

  /** All connections to the database break while the next worker has delivered and not yet settled. */
  databaseRestarts(): void {
    this.#faults.cutNext();
  }

  /** A wrong key would make a test pass whose fault never comes. */
  async #refuseUnknownKeys(): Promise<void> {
    const wanted = this.#faults.failingKeys();
    if (wanted.length === 0) return;
    const rows = await this.#world.sql<{ key: string }[]>`
      select key from carillon.schedules where key = any(${wanted})`;
    const known = new Set([...rows, ...this.jobs()].map(({ key }) => key));
    const unknown = wanted.find((key) => !known.has(key));
    if (unknown !== undefined)
      throw new Error(
        `failNext(${JSON.stringify(unknown)}) never has an effect: there is no schedule with this key, and there was none. Make the schedule before the clock advances.`,
      );
  }

  async stop(): Promise<void> {
    await this.#world.stop();
    await this.#giveBack();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function lengthOf(duration: string): number {
  const ms = durationMs(duration);
  if (ms === null) throw new Error(`"${duration}" is no duration; it takes texts such as 30s, 2h or 1d12h.`);
  return ms;
}

function countOf(fault: string, count: number): number {
  if (Number.isSafeInteger(count) && count >= 0) return count;
  throw new Error(`${fault} takes a whole number from 0 on, not ${count}.`);
}

/** All connections to this database but the one that asks. */
async function cutConnections(sql: World["sql"]): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`;
}
