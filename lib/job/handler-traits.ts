import { durationMs } from "../cadence/duration.ts";
import { parseRate, type Rate, rateForm } from "./rate.ts";

/** What the way to a handler must know of it. */
export interface HandlerTraits {
  name: string;
  /** It takes all due jobs of its group at once. */
  grouped: boolean;
  /** So many of its runs at once, over all workers; null for any number. */
  concurrency: number | null;
  /** So many of its runs may start in a time; null for any number. */
  rate: Rate | null;
}

export interface HandlerSettings {
  /** As schedules name it: `{ "target": { "handler": name } }`. */
  name: string;
  /** How often a job may ask to be checked again; 5 by default. */
  maxChecks?: number;
  /** How far ahead the next check may lie, such as "30d", the default. */
  maxAhead?: string;
  /** So many runs at once, over all workers. */
  concurrency?: number;
  /** So many runs may start, such as "10/s" or "100/m". */
  rate?: string;
}

export interface RecheckBounds {
  maxChecks: number;
  maxAheadMs: number;
}

const nameForm = /^[a-z][a-z0-9-]{0,63}$/;
const maxChecksMost = 1_000;
const maxAheadMostMs = 366 * 86_400_000;

/** Throws, when the program starts, for settings that make no sense. */
export function handlerTraits(settings: HandlerSettings & { grouped?: boolean }): HandlerTraits {
  const { name, grouped = false, concurrency = null, rate } = settings;
  if (!nameForm.test(name))
    throw new TypeError(
      `The handler's name ${JSON.stringify(name)} takes lower-case letters, digits and "-", as its file is named.`,
    );
  if (concurrency !== null && !isCount(concurrency, 1))
    throw new TypeError(`The handler ${name}: concurrency takes a whole number from 1.`);
  return { name, grouped, concurrency, rate: rate === undefined ? null : readRate(name, rate) };
}

export function recheckBounds({ name, maxChecks = 5, maxAhead = "30d" }: HandlerSettings): RecheckBounds {
  if (!isCount(maxChecks, 0) || maxChecks > maxChecksMost)
    throw new TypeError(`The handler ${name}: maxChecks takes a whole number from 0 to ${maxChecksMost}.`);
  const maxAheadMs = durationMs(maxAhead);
  if (maxAheadMs === null || maxAheadMs < 1_000 || maxAheadMs > maxAheadMostMs)
    throw new TypeError(`The handler ${name}: maxAhead takes a duration such as "30d", from 1s to 366d.`);
  return { maxChecks, maxAheadMs };
}

function readRate(name: string, text: string): Rate {
  const rate = parseRate(text);
  if (rate === null) throw new TypeError(`The handler ${name}: rate is written ${rateForm}.`);
  return rate;
}

function isCount(value: number, min: number): boolean {
  return Number.isSafeInteger(value) && value >= min;
}
