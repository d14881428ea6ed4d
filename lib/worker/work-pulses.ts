import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import type { ClaimedPulses, PulsePlace } from "../parcel/claim.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import { dividePulses } from "../pulse/divide-pulses.ts";
import { type PulsePage, type PulsesOfTarget, readPulses } from "../pulse/read-pulses.ts";
import { type PulsesWorked, settlePulses } from "../pulse/settle-pulses.ts";
import { type Failure, failed } from "../target/delivery.ts";
import { idOf } from "../target/pulse-envelope.ts";
import { sendingMinMs } from "../target/sending.ts";
import { partByKeys } from "../target/target-prefixes.ts";
import { loggableFailure } from "./log-failures.ts";
import type { MeasuredWork } from "./measure-work.ts";
import { settleSurely } from "./settle-surely.ts";
import type { PulseSending } from "./worker-deps.ts";

export interface PulseDeps {
  sql: Sql;
  queue: ParcelQueue;
  clock: Clock;
  log: Log;
  random: () => number;
  pulses?: PulseSending | undefined;
  measure?: MeasuredWork | undefined;
}

/**
 * With less time left than this no more pages are read: to read a page takes up to a second, and it
 * must then be sent and settled.
 */
const pageMinMs: number = sendingMinMs + 1_000;
/**
 * How often a worker pauses to try pulses again that a target has not taken, with pauses of up to this
 * length, doubled each time. The pauses are those of the whole parcel: pulses of other targets, and of
 * other teams, wait meanwhile. With two pauses in each page, one failing target in each of 16 pages made
 * the others 8 s late. Pulses that fail after them wait for the next try of the parcel.
 */
const pausesMax = 2;
const pauseMs = 200;
/** The most pulses without a message whose ids are logged. */
const idsShownMax = 20;

/**
 * Sends the pulses of a claimed parcel to their targets, page by page, and settles it. No
 * transaction is open meanwhile: an edit, hold or delete before a schedule's page is read applies
 * to its pulse.
 */
export async function workPulses(
  deps: PulseDeps,
  parcel: ClaimedPulses,
  timeLeftMs: () => number,
): Promise<void> {
  if (deps.pulses === undefined) throw new Error("This worker is not set up to send pulses.");
  const startedAt = deps.clock.now();
  const first = await readPulses(deps.sql, parcel, parcel.after, startedAt);
  const teams = await teamsOf(deps, parcel, first);
  if (teams === undefined) return;
  const work = new Work(deps, deps.pulses, { ...parcel, teams }, { startedAt, timeLeftMs });
  await work.run(first);
  const { worked } = work;
  const { held, outgoing } = await settleSurely(deps.log, parcel.id, () =>
    settlePulses(deps.sql, parcel, worked),
  );
  if (!held) {
    deps.log.warn("worker.lease-lost", { parcel: parcel.id });
    return;
  }
  const [failed, refused] = [sum(worked.failed), sum(worked.refused)];
  const lost = refused + (parcel.lastTry ? failed : 0);
  deps.measure?.pulses({ taken: worked.taken, failed: failed + refused, lost });
  work.logFailures();
  await handOver(deps.sql, deps.queue, outgoing);
}

/**
 * The teams whose pulses the worker sends. Undefined: none, since the parcel is divided by teams or
 * its lease is lost.
 */
async function teamsOf(
  { sql, queue, log }: PulseDeps,
  parcel: ClaimedPulses,
  { next }: PulsePage,
): Promise<ClaimedPulses["teams"] | undefined> {
  const { teams } = parcel;
  const isOfOneTeam = teams !== null && teams.from === teams.to;
  if (next === null || isOfOneTeam) return teams;
  const { held, team, outgoing } = await dividePulses(sql, parcel);
  if (!held) log.warn("worker.lease-lost", { parcel: parcel.id });
  await handOver(sql, queue, outgoing);
  return team === null ? undefined : { from: team, to: team };
}

class Work {
  readonly #deps: PulseDeps;
  readonly #sending: PulseSending;
  readonly #parcel: ClaimedPulses;
  readonly #timeLeftMs: () => number;
  readonly #startedAt: number;
  readonly #due: Date;
  readonly #taken = new Map<number, number>();
  readonly #failed = new Map<number, number>();
  readonly #refused = new Map<number, number>();
  /** The ids of pulses that cannot be made into a message, by target. */
  readonly #unmade = new Map<number, string[]>();
  /** The ids of pulses whose keys may not use their target, by target. */
  readonly #ofOthers = new Map<number, string[]>();
  /** The last failure of each target that did not take all of its pulses. */
  readonly #failures = new Map<number, Failure>();
  #pauses: number;
  #failedAfter: PulsePlace | null = null;
  #rest: PulsePlace | null = null;

  constructor(
    deps: PulseDeps,
    sending: PulseSending,
    parcel: ClaimedPulses,
    { startedAt, timeLeftMs }: { startedAt: Date; timeLeftMs: () => number },
  ) {
    this.#deps = deps;
    this.#sending = sending;
    this.#parcel = parcel;
    this.#timeLeftMs = timeLeftMs;
    this.#startedAt = startedAt.getTime();
    this.#due = new Date(parcel.second * 1_000);
    // A parcel for single targets is a retry. With pauses in each retry, pulses that fail for good would be sent
    // 18 times instead of 8.
    this.#pauses = parcel.targets === null ? 0 : pausesMax;
  }

  get worked(): PulsesWorked {
    return {
      taken: [...this.#taken].map(([lateMs, pulses]) => ({ lateMs, pulses })),
      failed: this.#failed,
      failedAfter: this.#failedAfter,
      refused: this.#lost(),
      rest: this.#rest,
    };
  }

  /** Reads the next page while one is sent. */
  async run(first: PulsePage): Promise<void> {
    let after = this.#parcel.after;
    let reading: Promise<PulsePage> | undefined = Promise.resolve(first);
    while (reading !== undefined) {
      const page: PulsePage = await reading;
      const { pulses, next } = page;
      const goesOn: boolean = next !== null && this.#timeLeftMs() >= pageMinMs;
      reading = goesOn ? this.#read(next) : undefined;
      // Awaited in the next round. The empty handler avoids an unhandled rejection until then.
      reading?.catch(() => {});
      await this.#sendPage(pulses, after);
      if (!goesOn) this.#rest = next;
      after = next;
    }
  }

  /** How many pulses are given up at once, by target: refused, not made into a message, or of other keys. */
  #lost(): Map<number, number> {
    const lost = new Map(this.#refused);
    for (const [target, ids] of [...this.#unmade, ...this.#ofOthers]) add(lost, target, ids.length);
    return lost;
  }

  logFailures(): void {
    const { log } = this.#deps;
    const { id, second, lastTry } = this.#parcel;
    const at = new Date(second * 1_000).toISOString();
    const shown = (ids: readonly string[]) => ids.slice(0, idsShownMax).join(" ");
    for (const [target, ids] of this.#unmade)
      log.error("pulse.unmade", { parcel: id, target, pulses: ids.length, ids: shown(ids) });
    for (const [target, ids] of this.#ofOthers)
      log.error("pulse.not-allowed", { parcel: id, at, target, pulses: ids.length, ids: shown(ids) });
    for (const [target, failure] of this.#failures) {
      const pulses = (this.#failed.get(target) ?? 0) + (this.#refused.get(target) ?? 0);
      // A later attempt has delivered all of them.
      if (pulses === 0) continue;
      const fields = { parcel: id, at, target, pulses };
      const error = loggableFailure(failure);
      if (lastTry || !this.#failed.has(target)) log.error("pulse.given-up", { ...fields, error });
      else log.warn("pulse.failed", { ...fields, error });
    }
  }

  #read(after: PulsePlace | null): Promise<PulsePage> {
    return readPulses(this.#deps.sql, this.#parcel, after, this.#deps.clock.now());
  }

  async #sendPage(page: readonly PulsesOfTarget[], after: PulsePlace | null): Promise<void> {
    const allowed = await this.#ofOwnKeys(page);
    let pending = allowed.filter((pulses) => !this.#isDown(pulses, after));
    while (pending.length > 0) {
      pending = await this.#send(pending);
      if (pending.length === 0) return;
      if (this.#pauses === pausesMax || this.#timeLeftMs() < pageMinMs) break;
      await this.#deps.clock.sleep(pauseMs * 2 ** this.#pauses * (0.5 + this.#deps.random() / 2));
      this.#pauses += 1;
    }
    for (const pulses of pending) this.#fail(pulses, after);
  }

  /** Leaves out pulses whose target is kept for other keys. The list may be newer than their schedules. */
  async #ofOwnKeys(page: readonly PulsesOfTarget[]): Promise<readonly PulsesOfTarget[]> {
    const { prefixes = [], targets } = this.#sending;
    if (prefixes.length === 0) return page;
    const known = await targets(page.map(({ target }) => target));
    return page.flatMap((pulses) => {
      const { target, envelopes } = pulses;
      const where = known.get(target);
      if (where === undefined) return [pulses];
      const { own, others } = partByKeys(prefixes, where, envelopes);
      this.#count(this.#ofOthers, target, others.map(idOf));
      return own.length === 0 ? [] : [{ target, envelopes: own }];
    });
  }

  /** A parcel for single targets is a retry, and what it gives up at once was counted the first time. */
  #count(given: Map<number, string[]>, target: number, ids: readonly string[]): void {
    if (ids.length === 0 || this.#parcel.targets !== null) return;
    given.set(target, [...(given.get(target) ?? []), ...ids]);
  }

  /**
   * A target that refused a page, or took none of it in all attempts, gets no request for the next
   * page.
   */
  #isDown(pulses: PulsesOfTarget, after: PulsePlace | null): boolean {
    if (this.#refused.has(pulses.target)) add(this.#refused, pulses.target, pulses.envelopes.length);
    else if (this.#failed.has(pulses.target)) this.#fail(pulses, after);
    else return false;
    return true;
  }

  #fail({ target, envelopes }: PulsesOfTarget, after: PulsePlace | null): void {
    if (this.#failed.size === 0) this.#failedAfter = after;
    add(this.#failed, target, envelopes.length);
  }

  /** Returns the pulses that may be tried again. */
  async #send(pulses: readonly PulsesOfTarget[]): Promise<PulsesOfTarget[]> {
    const known = await this.#sending.targets(pulses.map(({ target }) => target));
    const asked = pulses.flatMap(({ target, envelopes }) => {
      const where = known.get(target);
      if (where === undefined) this.#refuse(target, envelopes.length);
      return where === undefined ? [] : [{ number: target, target: where, envelopes }];
    });
    const sent = await this.#sending.send(asked, this.#due, this.#timeLeftMs);
    const lateMs = this.#lateMs();
    return asked.flatMap(({ number: target }, index) => {
      const outcome = sent[index];
      if (outcome === undefined) throw new Error(`There is no outcome for the pulses of target ${target}.`);
      const { taken, failed, refused, unmade, failure } = outcome;
      if (taken > 0) add(this.#taken, lateMs, taken);
      if (refused > 0) add(this.#refused, target, refused);
      this.#count(this.#unmade, target, unmade);
      if (failure !== null) this.#failures.set(target, failure);
      return failed.length > 0 ? [{ target, envelopes: failed }] : [];
    });
  }

  /** Counts as a target that refuses every pulse. */
  #refuse(target: number, pulses: number): void {
    add(this.#refused, target, pulses);
    this.#failures.set(target, failed("The target is missing or cannot be read.", true));
  }

  /** Lateness by the database's clock at the claim, plus the time since by this clock. */
  #lateMs(): number {
    const sinceMs = this.#deps.clock.now().getTime() - this.#startedAt;
    return Math.max(0, this.#parcel.claimedAt.getTime() - this.#due.getTime() + sinceMs);
  }
}

function add(counts: Map<number, number>, of: number, many: number): void {
  counts.set(of, (counts.get(of) ?? 0) + many);
}

function sum(counts: ReadonlyMap<number, number>): number {
  return [...counts.values()].reduce((all, many) => all + many, 0);
}
