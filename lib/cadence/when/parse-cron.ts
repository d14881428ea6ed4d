import { BoundedMap } from "../../bounded-map.ts";
import { FURTHEST_MS } from "../bounds.ts";
import { nextAfter } from "../cadence.ts";
import type { Cadence } from "../cadence-kinds.ts";
import type { CronFields } from "../cron/cron-field.ts";
import { readCronFields } from "../cron/cron-fields.ts";
import { cronWarnings } from "../cron/cron-warnings.ts";
import { tooFar, type WhenFault } from "../fault.ts";
import { normalForm } from "../normal-form.ts";
import { before, overrideOf, type ParsedWhen, type WhenContext } from "../parsed-when.ts";
import { describeCron } from "./describe-cron.ts";

export const nicknames: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

export function parseCron(text: string, start: number, context: WhenContext): ParsedWhen | WhenFault {
  const { timezone, now, key } = context;
  const read = readCron(text.slice(start), start, key);
  if (!read.ok) return read;
  const { fields, words, warnings } = read;
  const cadence: Cadence = { kind: "cron", expression: fields.normal, timezone, ...overrideOf(context) };
  if (fields.years !== null) {
    const next = nextAfter(cadence, before(context));
    if (next === null)
      return { ok: false, kind: "past", message: "All of its years are in the past.", position: start };
    if (next > now + FURTHEST_MS) return tooFar(start);
  }
  return {
    ok: true,
    cadence,
    relative: false,
    normal: normalForm(cadence),
    description: `${words}, ${timezone}`,
    warnings: [...warnings],
  };
}

interface ReadCron {
  ok: true;
  fields: CronFields;
  words: string;
  warnings: readonly string[];
}

/**
 * Reads an expression once, since millions of schedules share a few. An expression with an `H`
 * depends on the key, so it is read each time.
 */
function readCron(text: string, start: number, key: string): ReadCron | WhenFault {
  const known = readByText.get(text);
  if (known !== undefined) return known;
  const fields = readCronFields(text, start, key);
  if (!fields.ok) return fields;
  const read: ReadCron = { ok: true, fields, words: describeCron(fields), warnings: cronWarnings(fields) };
  if (/h/i.test(text)) return read;
  readByText.set(text, read);
  return read;
}

const readByText = new BoundedMap<string, ReadCron>(1_000);
