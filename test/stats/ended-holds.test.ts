import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { countSchedules, findMatching } from "../../lib/history/search-schedules.ts";
import { readStats } from "../../lib/stats/stats.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { touched } from "../support/touched.ts";

/** A hundred thousand holds ended at one instant, and no tick has cleared one since. */

const schedules = 120_000;
/** Every 600th schedule is held without an end; the holds of five in six have ended. */
const paused = schedules / 600;

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url }, { max: 1 });
  await sql`
    insert into carillon.schedules (shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by, held_since, held_until)
    select n % 16, 'fast', 'k:' || lpad(n::text, 7, '0'), 'queue', now(), 'test', now(), 'test',
      case when n % 6 > 0 or n % 600 = 0 then now() - interval '1 hour' end, case when n % 6 > 0 then now() - interval '1 minute' end
    from generate_series(1, ${schedules}) n`;
  await sql`vacuum analyze carillon.schedules`;
  await sql`set jit = off`;
});

afterAll(async () => {
  await sql.end();
  await database.drop();
});

test("The statistics count no hold that has just ended, of a hundred thousand, and scan no schedules", async () => {
  const seen = await touched(sql, async () => {
    expect((await readStats(sql)).schedules).toMatchObject({
      total: schedules,
      active: schedules - paused,
      paused,
    });
  });
  expect(Object.keys(seen.scanned)).not.toContain("schedules");
  expect(seen.index["schedules_held_until"]).toBe((schedules * 5) / 6);
});

test("A count of paused schedules is exact past a hundred thousand holds that have just ended", async () => {
  expect(await countSchedules(sql, { state: "paused" })).toEqual({ count: paused, more: false });
});

test("A search for paused schedules passes a hundred thousand ended holds in few pages", async () => {
  const found: string[] = [];
  let pages = 0;
  for (let after: string | undefined; ; ) {
    const { items, next } = await findMatching(sql, { state: "paused", limit: 100, after });
    found.push(...items.map(({ id }) => id));
    pages += 1;
    after = next;
    if (after === undefined) break;
  }
  expect(found).toHaveLength(paused);
  expect(pages).toBeLessThan(20);
});
