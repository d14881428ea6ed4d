import { expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { connectThrough, notingFailures, textOf } from "../race/lines.ts";
import { carillon } from "../support/carillon.ts";

const caller = { name: "ann" };
const keys = ["a", "b", "c", "d", "e", "f"];

/**
 * The shared rows are new in every round, so that several batches insert the same cadences and
 * targets at once.
 */
function operationsOn(round: number, from: number): Operation[] {
  const rotated = [...keys.slice(from), ...keys.slice(0, from)];
  const minute = (round * keys.length + from) % 60;
  return rotated.flatMap((name, index): Operation[] => {
    const key = index % 2 === 0 ? name : `${round}:${name}`;
    const body = parseScheduleBody({
      when: `${(minute + index) % 60} ${round} * * *`,
      target: { queue: `q${round}-${(from + index) % 3}` },
    });
    const put: Operation = { kind: "put", key, caller, body };
    const later = {
      when: `${(minute + 7 * index) % 60} ${round} * * *`,
      target: { queue: `p${round}-${from}` },
    };
    // A refused operation, or a second change of a key, puts further operations of the key into a
    // later wave than those of other keys.
    if (index % 3 === 0) return [{ kind: "resume", key, caller }, put];
    return index % 3 === 1 ? [put, { kind: "patch", key, caller, patch: later }] : [put];
  });
}

test("concurrent batches on the same keys in every order do not deadlock", async () => {
  const world = await carillon();
  for (const key of keys) await world.put(key, { when: "every 1h" });
  const failures: unknown[] = [];
  const sql = connectThrough(world.databaseUrl, notingFailures(failures), { max: 12 });
  const refused: unknown[] = [];
  for (let round = 0; round < 10; round++) {
    const batches = Array.from({ length: 12 }, (_, n) => operationsOn(round, n % keys.length));
    const applied = await Promise.all(
      batches.map((operations) => applyOperations({ sql, queue: world.queue }, operations)),
    );
    refused.push(...applied.flat().flatMap((each) => (each.change === "refused" ? [each.refusal.kind] : [])));
  }
  await sql.end();
  // A batch begins again if another transaction has taken a key meanwhile. The statements that it
  // had already sent then fail.
  const passing = ["unique_violation", "failed_transaction"];
  expect(failures.filter((state) => !passing.includes(String(state)))).toEqual([]);
  expect(failures.length).toBeGreaterThan(0);
  expect(new Set(refused)).toEqual(new Set(["missing"]));
  const [rows] = await world.sql`select count(*)::int as schedules from carillon.schedules`;
  expect(rows?.["schedules"]).toBe(keys.length + 10 * keys.length);
  await world.stop();
}, 60_000);

test("a batch inserts all cadences that it needs in one statement, those of folded edits too", async () => {
  const world = await carillon();
  const target = { queue: "reports" };
  for (const key of keys) await world.put(key, { when: "every 1h", target });
  const texts: string[] = [];
  const sql = connectThrough(world.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      texts.push(textOf(statement));
      line.run(statement);
    },
  }));
  const operations = keys.flatMap((key, n): Operation[] => [
    { kind: "put", key, caller, body: parseScheduleBody({ when: `${9 - n} 1 * * *`, target }) },
    { kind: "patch", key, caller, patch: { when: `${n} 2 * * *` } },
  ]);
  const applied = await applyOperations({ sql, queue: world.queue }, operations);
  await sql.end();
  expect(applied.map(({ change }) => change)).toEqual(operations.map(() => "changed"));
  expect(texts.filter((text) => text.includes("insert into carillon.cadences"))).toHaveLength(1);
  await world.stop();
});
