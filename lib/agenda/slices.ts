import { setImmediate } from "node:timers/promises";
import { nextAfter } from "../cadence/cadence.ts";
import type { Cadence } from "../cadence/cadence-kinds.ts";
import type { Window } from "./window.ts";

/**
 * The mark that schedules of one cadence share, as the column `rule` stores it: the id of a shared cadence,
 * the length of an interval as a negative number, or 0 for single instants.
 */
export interface Rule {
  rule: number;
  /** Set for a shared cadence. */
  cadence: Cadence | null;
}

/**
 * A part of a rule's schedules that occur in a stretch of time: those with a phase in
 * `[low, high)`, each at `base` + phase.
 */
export interface Slice {
  rule: number;
  base: number;
  low: number;
  high: number;
}

/** Whether a schedule of this rule and phase occurs at an instant, as far as its cadence tells. */
export function occursAt({ rule, cadence }: Rule, phase: number, at: number): boolean {
  if (cadence !== null) return nextAfter(cadence, at - 1) === at;
  return rule === 0 ? at === phase : (at - phase) % -rule === 0;
}

export const startOf = ({ base, low }: Slice): number => base + low;

/** How many cadences are searched before other work of the process can run. */
const searchedAtOnce = 250;

/**
 * The slices of many rules in a window, in the order of their starts. A shared cadence has one slice
 * per instant, an interval one per period, single instants have one in all.
 */
export class Slices {
  readonly #window: Window;
  /** The next slice of each rule, the earliest last. */
  readonly #coming: { rule: Rule; slice: Slice }[] = [];

  private constructor(window: Window) {
    this.#window = window;
  }

  static async of(rules: readonly Rule[], window: Window): Promise<Slices> {
    const slices = new Slices(window);
    for (const [index, rule] of rules.entries()) {
      const slice = sliceAfter(rule, window.from, window);
      if (slice !== null) slices.#coming.push({ rule, slice });
      if (index % searchedAtOnce === searchedAtOnce - 1) await setImmediate();
    }
    slices.#coming.sort((a, b) => startOf(b.slice) - startOf(a.slice));
    return slices;
  }

  /** Takes the next slices, and tells where the one after them starts; null if none follows. */
  take(most: number): { slices: Slice[]; until: number | null } {
    const slices: Slice[] = [];
    while (slices.length < most) {
      const next = this.#coming.pop();
      if (next === undefined) break;
      slices.push(next.slice);
      const { base, high } = next.slice;
      const following = sliceAfter(next.rule, base + high, this.#window);
      if (following !== null) this.#insert({ rule: next.rule, slice: following });
    }
    const first = this.#coming.at(-1);
    return { slices, until: first === undefined ? null : startOf(first.slice) };
  }

  #insert(entry: { rule: Rule; slice: Slice }): void {
    const start = startOf(entry.slice);
    let low = 0;
    let high = this.#coming.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#coming[middle];
      if (other !== undefined && startOf(other.slice) > start) low = middle + 1;
      else high = middle;
    }
    this.#coming.splice(low, 0, entry);
  }
}

function sliceAfter({ rule, cadence }: Rule, from: number, { to }: Window): Slice | null {
  if (from >= to) return null;
  if (cadence !== null) {
    const at = nextAfter(cadence, from - 1);
    return at === null || at >= to ? null : { rule, base: at, low: 0, high: 1 };
  }
  if (rule === 0) return { rule, base: 0, low: from, high: to };
  const every = -rule;
  const base = Math.floor(from / every) * every;
  return { rule, base, low: from - base, high: Math.min(every, to - base) };
}
