import { type CronFields, readCronFields } from "./cron-fields.ts";
import { cronSearch } from "./cron-search.ts";
import { zoneNamed } from "./zone-spans.ts";
import { nextInZone, previousInZone } from "./zoned-search.ts";

/** An expression in a zone, ready to be asked for its occurrences. */
export interface CompiledCron {
  nextAfter(after: number): number | null;
  previousBefore(before: number): number | null;
}

/** Enough for all that a tick meets in practice; a stranger's thousands of expressions must not fill the memory. */
const COMPILED_MAX = 5_000;
const compiled = new Map<string, CompiledCron>();

/** Expressions come from `parseWhen`, in its normal form; any other text is a mistake of the program. */
export function compiledCron(expression: string, timezone: string): CompiledCron {
  const name = `${timezone} ${expression}`;
  const known = compiled.get(name);
  if (known !== undefined) return known;
  const fields = readCronFields(expression, 0);
  if (!fields.ok) throw new Error(`The cron expression "${expression}" does not read: ${fields.message}`);
  const made = compile(fields, timezone);
  if (compiled.size >= COMPILED_MAX) {
    const [oldest] = compiled.keys();
    if (oldest !== undefined) compiled.delete(oldest);
  }
  compiled.set(name, made);
  return made;
}

/** Dates hold no instants much beyond this, and nothing is looked for there. */
const INSTANT_MAX = 8e15;

function compile(fields: CronFields, timezone: string): CompiledCron {
  const search = cronSearch(fields);
  const zone = zoneNamed(timezone);
  const { fixedTime } = fields;
  return {
    nextAfter: (after) => (Math.abs(after) < INSTANT_MAX ? nextInZone(search, fixedTime, zone, after) : null),
    previousBefore: (before) =>
      Math.abs(before) < INSTANT_MAX ? previousInZone(search, fixedTime, zone, before) : null,
  };
}
