import fc from "fast-check";
import { parseWhen } from "../../lib/cadence/when/parse-when.ts";
import { seedOfRun } from "../support/seed.ts";
import { arbitraryMonster, whens, zone } from "./when-texts.ts";

const context = { now: Date.parse("2026-11-21T08:00:00Z") };

/** Expressions whose search goes up to its limit. */
const rarest = [
  "0 0 30 2 *",
  "0 0 31 2,4,6,9,11 *",
  "0 0 31W 2,4,6,9,11 *",
  "0 0 29 2 *",
  "cron(0 0 29 2 ? 2001)",
  "cron(0 0 29 2 ? 2199)",
  "cron(0 0 ? 2 2#5 2199)",
  "cron(0 0 29 2 ? 2100,2199)",
  "cron(59 23 31 12 ? 2199)",
];

/** The parse of each text, named by the JSON of the text. */
export function* cases(): Generator<[string, () => unknown]> {
  for (const when of rarest)
    yield [JSON.stringify(when), () => parseWhen(when, { ...context, timezone: "Europe/Berlin", key: "a" })];
  const drawn = fc.sample(
    fc.tuple(
      fc.oneof({ weight: 3, arbitrary: whens }, { weight: 1, arbitrary: arbitraryMonster() }),
      zone,
      fc.string(),
    ),
    {
      numRuns: 3_000,
      seed: seedOfRun,
    },
  );
  for (const [when, timezone, key] of drawn)
    yield [JSON.stringify(when), () => parseWhen(when, { ...context, timezone, key })];
}
