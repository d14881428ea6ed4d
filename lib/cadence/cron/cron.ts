import type { TimesOfDay } from "../most-times.ts";
import type { CountingSearch } from "../zone/wall-search.ts";
import { readCronFields } from "./cron-fields.ts";
import { cronSearch } from "./cron-search.ts";

/** An expression that is ready for searching its wall times. */
export interface CompiledCron extends CountingSearch {
  /**
   * True for an expression at fixed times, which has no `*` or `/` in second, minute and hour. Its
   * rule for clock changes is in clock-rule.ts.
   */
  fixedTime: boolean;
  times: TimesOfDay;
}

/**
 * Enough for the expressions that a tick meets in practice, and a bound for installations with many
 * thousands of them.
 */
const COMPILED_MAX = 5_000;
const compiled = new Map<string, CompiledCron>();

/**
 * Takes an expression in the normal form of `parseWhen`; any other text is a mistake of the
 * program.
 */
export function compiledCron(expression: string): CompiledCron {
  const known = compiled.get(expression);
  if (known !== undefined) return known;
  const fields = readCronFields(expression, 0);
  if (!fields.ok) throw new Error(`The cron expression "${expression}" cannot be read: ${fields.message}`);
  const { fixedTime, hours, minutes, seconds } = fields;
  const made = { ...cronSearch(fields), fixedTime, times: { hours, minutes, seconds } };
  if (compiled.size >= COMPILED_MAX) {
    const [oldest] = compiled.keys();
    if (oldest !== undefined) compiled.delete(oldest);
  }
  compiled.set(expression, made);
  return made;
}
