import { nextWorkAt } from "../../tick/next-work.ts";
import { tick } from "../../tick/tick.ts";
import type { World } from "./world.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

/**
 * Moves the clock from one moment to the next at which something happens: a tick, a message that
 * becomes visible, a worker that has waited. Minutes in which a tick would do nothing are passed
 * over.
 */
export class Course {
  readonly #world: World;
  /** The tick that comes next. */
  #tickAt: number;
  #tickedAt: number;
  /** Ticks until this moment have run, or had nothing to do: work that is found later waits for the next one. */
  #passedAt: number;
  /** No tick runs before this moment. */
  #missingUntil = 0;

  /** Otherwise the tick of every minute runs, and makes jobs as far ahead as in a deployment. */
  readonly #mayLeap: () => boolean;

  /** Called before the tick of midnight, which drops the oldest day. */
  readonly #eachDay: () => Promise<void>;

  constructor(world: World, hooks: { mayLeap: () => boolean; eachDay: () => Promise<void> }) {
    this.#world = world;
    this.#mayLeap = hooks.mayLeap;
    this.#eachDay = hooks.eachDay;
    const now = world.clock.now().getTime();
    this.#tickAt = afterMinute(now);
    this.#tickedAt = now;
    this.#passedAt = now;
  }

  /** Ticks are missing from now until then. */
  async missTicks(until: number): Promise<void> {
    await this.#tickWasHere(beginOfMinute(this.#world.clock.now().getTime()));
    this.#missingUntil = until;
    this.#world.isStirred = true;
  }

  async to(end: number): Promise<void> {
    const { clock, activity, invocations, queue } = this.#world;
    await activity.idle();
    this.#world.isStirred = true;
    for (;;) {
      if (await invocations.begin()) this.#world.isStirred = true;
      await this.#placeTick(end);
      const next = Math.min(this.#tickAt, clock.nextAlarm(), firstVisible(queue.messages));
      if (next > end) break;
      // A worker that wakes may claim jobs, and the tick looks for the ends of leases.
      if (next === clock.nextAlarm()) this.#world.isStirred = true;
      if (next > clock.now().getTime()) await clock.setNow(new Date(next));
      await activity.idle();
      await this.#placeTick(end);
      this.#passedAt = next;
      if (next >= this.#tickAt) await this.#tick(end);
    }
    if (clock.now().getTime() < end) await clock.setNow(new Date(end));
    this.#passedAt = end;
  }

  async #tick(end: number): Promise<void> {
    const { clock, tick: parts } = this.#world;
    const now = clock.now().getTime();
    if (now > this.#missingUntil) await this.#tickWasHere(now - minuteMs);
    // Within one advance no caller acts, so its jobs may be made a day ahead: that takes
    // one tick instead of one for each of them. At the end, jobs are made as far ahead as ever.
    const leapMs = this.#mayLeap() ? Math.min(dayMs, Math.max(0, beginOfMinute(end) - now)) : 0;
    const aheadMs = parts.settings.aheadMs + leapMs;
    if (now % dayMs === 0) await this.#eachDay();
    await tick(parts.deps, { ...parts.settings, aheadMs }, () => false);
    this.#tickedAt = now;
    this.#world.isStirred = true;
  }

  /**
   * The minutes since the last tick were passed over because their ticks would have done nothing.
   * Without this mark, the ledger would take them for an outage.
   */
  async #tickWasHere(at: number): Promise<void> {
    if (this.#tickedAt >= at) return;
    await this.#world.sql`update carillon.heartbeat set ticked_at = greatest(ticked_at, ${new Date(at)})`;
    this.#tickedAt = at;
  }

  /** Finds the next minute in which a tick has something to do. */
  async #placeTick(end: number): Promise<void> {
    if (!this.#world.isStirred) return;
    this.#world.isStirred = false;
    this.#tickAt = Math.max(afterMinute(this.#passedAt), endOfMinute(this.#missingUntil));
    if (!this.#mayLeap()) return;
    const { sql, tick: parts } = this.#world;
    const work = (await nextWorkAt(sql, parts.settings))?.getTime() ?? Number.POSITIVE_INFINITY;
    // The days of partitions move at midnight. At the end, the last minute's tick has run.
    const wanted = Math.min(work, nextDay(this.#tickedAt), beginOfMinute(end));
    this.#tickAt = Math.max(this.#tickAt, endOfMinute(wanted));
  }
}

const firstVisible = (messages: readonly { visibleAt: number }[]): number =>
  messages.reduce((first, { visibleAt }) => Math.min(first, visibleAt), Number.POSITIVE_INFINITY);
const beginOfMinute = (at: number): number => Math.floor(at / minuteMs) * minuteMs;
const endOfMinute = (at: number): number => Math.ceil(at / minuteMs) * minuteMs;
const afterMinute = (at: number): number => beginOfMinute(at) + minuteMs;
const nextDay = (at: number): number => Math.floor(at / dayMs) * dayMs + dayMs;
