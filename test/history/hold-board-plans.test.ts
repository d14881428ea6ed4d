import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { coveredMax } from "../../lib/history/holds/covered-schedules.ts";
import { readEndedHolds } from "../../lib/history/holds/ended-holds.ts";
import { boardLookedMax, type HoldFilter, readBoard } from "../../lib/history/holds/hold-board.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type Touched, touched } from "../support/touched.ts";

const schedules = 60_000;

/**
 * 60,000 schedules: each is held by a tag, every second by a hold of its own, and one team of a
 * hundred has ten. 20,000 groups are held. The audit has as many ends of holds, and far more of
 * members.
 */
async function fill(sql: Sql): Promise<void> {
  await sql`
    insert into carillon.schedules (id, shard, queue, key, target_kind, created_at, created_by, updated_at, updated_by, held_since, tags)
    select n, n % 16, 'fast', case when n <= 100 then 'team:' else 'big:' end || n, 'queue', now(), 'test', now(), 'test', now(), '{all}'
    from generate_series(1, ${schedules}::int) n`;
  await sql`
    insert into carillon.holds (schedule_id, owner, since, scope, name, shard) select n, 'ops', now(), 'tag', 'all', n % 16 from generate_series(1, ${schedules}::int) n`;
  await sql`
    insert into carillon.holds (schedule_id, owner, since, until, shard)
    select n, 'owner-' || n % 3, now(), case when n % 4 = 0 then timestamptz '2100-01-01Z' + n * interval '1 second' end, n % 16
    from generate_series(1, ${schedules}::int) n where n > 100 and n % 2 = 0 or n <= 10`;
  await sql`
    insert into carillon.shared_holds (scope, name, owner, since, until, author, reached, prefix)
    select 'group', 'g-' || n, 'ops', now(), case when n % 2 = 0 then timestamptz '2100-01-01Z' + n * interval '1 second' end, 'ops', null, case when n % 5 = 0 then 'big:' else '' end
    from generate_series(1, 20000) n`;
  await sql`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, detail)
    select carillon.clock() - n * interval '1 second', 'ops', case when n % 3 = 0 then 'schedule.created' else 'schedule.resumed' end,
      case when n % 1000 = 1 then 'team:' else 'big:' end || n, n, 2, case when n % 3 = 1 then '{"owner":"ops","tag":"all"}' else '{"owner":"ops"}' end::jsonb
    from generate_series(1, ${schedules}::int) n`;
}

/**
 * Without statistics the planner may read a table of this size whole and sort it, which costs less
 * than 2,000 lookups. Autovacuum analyzes a table once a tenth of it is new.
 */
const filters: [string, HoldFilter, number][] = [
  ["those of tags, of which there is none", { scope: "tag" }, 2 * boardLookedMax],
  ["an owner without holds", { owner: "none" }, 2 * boardLookedMax + 100],
  ["the prefix of few schedules", { prefix: "team:" }, 2 * boardLookedMax],
  ["the prefix of nearly all", { prefix: "big:" }, 2 * boardLookedMax + 100],
];
const endedFilters: [string, HoldFilter, number][] = [
  ["an owner without holds", { owner: "none" }, 2 * boardLookedMax],
  ["a prefix", { prefix: "team:" }, 3 * boardLookedMax],
];

describe.each([
  ["without statistics", false],
  ["with statistics", true],
])("the board of very many holds %s", (_, isAnalyzed) => {
  let database: TestDatabase;
  let sql: Sql;

  beforeAll(async () => {
    database = await testDatabase();
    sql = connect({ DATABASE_URL: database.url }, { max: 1 });
    await fill(sql);
    await sql`set jit = off`;
    if (isAnalyzed) await sql`vacuum analyze`;
  });

  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  const large = /^(schedules|schedule_tags|holds|shared_holds|audit)$/;

  function expectBounded({ scanned, index }: Touched, entriesMax: number): void {
    expect(Object.entries(scanned).filter(([table, read]) => large.test(table) && read > 500)).toEqual([]);
    expect(Object.entries(index).filter(([, read]) => read > entriesMax)).toEqual([]);
  }

  test.each<[string, HoldFilter, number]>([
    ["no filter", {}, 300],
    ["those of schedules", { scope: "schedule" }, 300],
    ["holds that end soon", { endsBefore: new Date("2100-01-01T00:10:00Z") }, 300],
    ...(isAnalyzed ? filters : []),
  ])("A page of the board reads a bounded number of holds: %s", async (_name, filter, most) => {
    let found = 0;
    const of = await touched(sql, async () => {
      const first = await readBoard(sql, { filter, limit: 50 });
      found = first.items.length;
    });
    expectBounded(of, most);
    expect(found).toBeLessThanOrEqual(50);
  });

  test("A page in the middle of the board reads no more than the first", async () => {
    const { next } = await readBoard(sql, { filter: {}, limit: 100 });
    const of = await touched(sql, async () => {
      expect((await readBoard(sql, { filter: {}, after: next, limit: 100 })).items).toHaveLength(100);
    });
    expectBounded(of, 500);
  });

  test("The schedules of a hold are counted up to a bound, and a larger hold keeps the number that it was put on", async () => {
    await sql`
      insert into carillon.shared_holds (scope, name, owner, since, until, author, reached, members)
      values ('tag', 'all', 'ops', now(), '2099-01-01Z', 'ops', null, ${schedules})`;
    const of = await touched(sql, async () => {
      const { items } = await readBoard(sql, { filter: {}, limit: 1 });
      expect(items).toMatchObject([{ name: "all", members: schedules }]);
    });
    await sql`delete from carillon.shared_holds where name = 'all'`;
    expectBounded(of, coveredMax + 300);
  });

  test("A team finds its few holds among very many on one page", async () => {
    const { items } = await readBoard(sql, { filter: { prefix: "team:", scope: "schedule" }, limit: 50 });
    expect(items.map(({ name }) => name).toSorted()).toEqual(
      Array.from({ length: 10 }, (_each, n) => `team:${n + 1}`).toSorted(),
    );
  });

  test.each<[string, HoldFilter, number]>([["no filter", {}, 600], ...(isAnalyzed ? endedFilters : [])])(
    "A page of ended holds reads a bounded number of entries: %s",
    async (_name, filter, most) => {
      const of = await touched(sql, async () => {
        const { items } = await readEndedHolds(sql, { filter, limit: 50 });
        for (const { name } of items) expect(Number(name.split(":")[1]) % 3).toBe(2);
      });
      expectBounded(of, most);
    },
  );
});
