import { durationMs } from "../cadence/duration.ts";
import { parseRate, type Rate, rateForm } from "./rate.ts";

/** The traits of a handler that matter outside of its runs. */
export interface HandlerTraits {
  name: string;
  /** Whether it takes all due jobs of its group at once. */
  grouped: boolean;
  /** The limit of concurrent runs over all workers; null for none. */
  concurrency: number | null;
  /** The limit of starts in a time; null for none. */
  rate: Rate | null;
}

export interface HandlerSettings {
  /** The name in schedules: `{ "target": { "handler": name } }`. */
  name: string;
  /** The limit of rechecks of a job; 5 by default. */
  maxChecks?: number;
  /** How far ahead the next check may be, such as "30d", the default. */
  maxAhead?: string;
  /** The limit of concurrent runs over all workers. */
  concurrency?: number;
  /** The limit of starts, such as "10/s" or "100/m". */
  rate?: string;
}

export interface RecheckBounds {
  maxChecks: number;
  maxAheadMs: number;
}

const nameForm = /^[a-z][a-z0-9-]{0,63}$/;
const maxChecksMost = 1_000;
const maxAheadMostMs = 366 * 86_400_000;

/** Throws for invalid settings, when the program starts. */
export function handlerTraits(settings: HandlerSettings & { grouped?: boolean }): HandlerTraits {
  const { name, grouped = false, concurrency = null, rate } = settings;
  if (!nameForm.test(name))
    throw new TypeError(
      `The handler's name ${JSON.stringify(name)} takes lower-case letters, digits and "-", as in the name of its file.`,
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
  if (rate === null) throw new TypeError(`The handler ${name}: rate takes a text ${rateForm}.`);
  return rate;
}

function isCount(value: number, min: number): boolean {
  return Number.isSafeInteger(value) && value >= min;
}
