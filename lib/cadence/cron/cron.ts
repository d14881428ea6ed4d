import type { TimesOfDay } from "../most-times.ts";
import type { CountingSearch } from "../zone/wall-search.ts";
import { readCronFields } from "./cron-fields.ts";
import { cronSearch } from "./cron-search.ts";

/** An expression ready to be searched for its wall times. */
export interface CompiledCron extends CountingSearch {
  /** Clock changes treat fixed times apart. */
  fixedTime: boolean;
  times: TimesOfDay;
}

/** Enough for all that a tick meets in practice; a stranger's thousands of expressions must not fill the memory. */
const COMPILED_MAX = 5_000;
const compiled = new Map<string, CompiledCron>();

/** Expressions come from `parseWhen`, in its normal form; any other text is a mistake of the program. */
export function compiledCron(expression: string): CompiledCron {
  const known = compiled.get(expression);
  if (known !== undefined) return known;
  const fields = readCronFields(expression, 0);
  if (!fields.ok) throw new Error(`The cron expression "${expression}" does not read: ${fields.message}`);
  const { fixedTime, hours, minutes, seconds } = fields;
  const made = { ...cronSearch(fields), fixedTime, times: { hours, minutes, seconds } };
  if (compiled.size >= COMPILED_MAX) {
    const [oldest] = compiled.keys();
    if (oldest !== undefined) compiled.delete(oldest);
  }
  compiled.set(expression, made);
  return made;
}
