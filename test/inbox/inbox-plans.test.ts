import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import {
  readCommandRows,
  refuseCommands,
  removeCommands,
  stillThere,
  waitingCommands,
} from "../../lib/inbox/inbox-rows.ts";
import { dropOldRefused, listRefused } from "../../lib/inbox/refusals.ts";
import { silentLog } from "../../lib/log/log.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { touched } from "../support/touched.ts";

const many = 50_000;

describe.each([
  ["have no statistics", false],
  ["are analyzed", true],
])("with fifty thousand waiting and as many refused commands, in tables that %s", (_, analyzed) => {
  let database: TestDatabase;
  let sql: Sql;
  beforeAll(async () => {
    database = await testDatabase("still");
    sql = connect({ DATABASE_URL: database.url }, { max: 1 });
    await sql`
      insert into carillon.inbox (at, caller, reach, key, command, bytes)
      select carillon.clock(), 'shop', '', 'a', '{"delete": "a"}', 15 from generate_series(1, ${many}::int)`;
    await sql`
      insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
      select 1000000 + n, carillon.clock(), carillon.clock() - n * interval '1 second', 'shop', concat('key-', n), '{}', 'No.', '[]'
      from generate_series(1, ${many}::int) n`;
    if (analyzed) await sql`analyze`;
  });
  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  async function expectNoMoreThan(entries: number, act: () => Promise<unknown>): Promise<void> {
    const { scanned, index } = await touched(sql, act);
    expect(Object.keys(scanned).filter((table) => table.startsWith("inbox"))).toEqual([]);
    expect(Object.entries(index).filter(([, read]) => read > entries)).toEqual([]);
  }

  test("a run of the inbox reads only the thousand commands that it applies together", async () => {
    await expectNoMoreThan(2_100, async () => {
      const { lists } = await waitingCommands(sql, { most: 1_000, together: 1_000 });
      const rows = await readCommandRows(sql, lists[0]?.ids ?? []);
      expect(rows.map(({ id }) => Number(id))).toEqual(Array.from({ length: 1_000 }, (_row, n) => n + 1));
    });
  });

  test("a run of the inbox finds the one command of a caller beside fifty thousand of another", async () => {
    await sql`
      insert into carillon.inbox (at, caller, reach, key, command, bytes) values (carillon.clock(), 'bakery', '', 'b', '{"delete": "b"}', 15)`;
    await expectNoMoreThan(120, async () => {
      const { lists } = await waitingCommands(sql, { most: 100, together: 1_000 });
      expect(lists.flatMap(({ ids }) => ids)).toHaveLength(51);
      expect(lists[0]?.ids).toContain(String(many + 1));
    });
    await sql`delete from carillon.inbox where caller = 'bakery'`;
  });

  test("a call reads the newest command of its role, and counts none of fifty thousand", async () => {
    await sql`
      update carillon.inbox set caller = session_user, recount_at = ${2 * many}::int where id > ${many - 1_000}::int`;
    await expectNoMoreThan(2, async () => {
      await sql`select carillon.delete_schedule('a')`;
    });
    await sql`update carillon.inbox set caller = 'shop'`;
  });

  test("an applied command is found and deleted by its number", async () => {
    const ids = Array.from({ length: 100 }, (_id, n) => String(30_000 + n));
    const refusal = { key: "a", command: {}, problem: "No.", faults: [] };
    await expectNoMoreThan(400, async () => {
      expect((await stillThere(sql, ids)).size).toBe(100);
      await removeCommands(sql, ids.slice(50));
      expect(
        await refuseCommands(
          sql,
          ids.slice(0, 50).map((id) => ({ id, ...refusal })),
        ),
      ).toBe(50);
    });
  });

  test("a page of refused commands is read along its index, and none is old enough to be dropped", async () => {
    await expectNoMoreThan(110, async () => {
      const { next } = await listRefused(sql, { limit: 20 });
      await listRefused(sql, { limit: 20, before: next });
      await dropOldRefused({ sql, log: silentLog }, () => false);
    });
  });
});

test("at most eight megabytes of commands are read at once, but always one command", async () => {
  const database = await testDatabase("still");
  const sql = connect({ DATABASE_URL: database.url }, { max: 1 });
  await sql`
    insert into carillon.inbox (at, caller, reach, key, command, bytes)
    select carillon.clock(), 'shop', '', 'a', '{"delete": "a"}', bytes from unnest(array[9000000, 1000000, 5000000, 4000000, 1]) bytes`;
  const listed = async (bounds: { most: number; together: number }) =>
    (await waitingCommands(sql, bounds)).lists.map(({ ids }) => ids);
  expect(await listed({ most: 10, together: 10 })).toEqual([["1"], ["2", "3", "4"], ["5"]]);
  expect(await listed({ most: 4, together: 2 })).toEqual([["1"], ["2", "3"], ["4"]]);
  await sql.end();
  await database.drop();
});

test("listing the waiting commands reads no command, also if one is set aside, and commands of its key are left out", async () => {
  const database = await testDatabase("still");
  const sql = connect({ DATABASE_URL: database.url }, { max: 1 });
  // As large as commands may be: each is stored apart from its row, in many parts.
  await sql`
    insert into carillon.inbox (at, caller, reach, key, command, bytes)
    select carillon.clock(), 'shop', '', 'k-' || i % 2, jsonb_build_object('put', jsonb_build_object('key', 'k-' || i % 2, 'payload',
      (select string_agg(md5(i::text || part), '') from generate_series(1, 500) part))), 16000 from generate_series(1, 20) i`;
  await sql`
    insert into carillon.quarantine (consumer, item, reason, detail, first_at, last_at, tries, next_at)
    select 'inbox', '1', 'It failed.', '{"key": "k-1"}', now, now, 1, now + interval '1 minute' from carillon.clock() now`;
  const blocksOfCommands = async () => {
    await sql`select pg_stat_force_next_flush()`;
    const [row] = await sql<{ blocks: number }[]>`
      select (toast_blks_read + toast_blks_hit)::int as blocks from pg_statio_user_tables where schemaname = 'carillon' and relname = 'inbox'`;
    return row?.blocks;
  };
  const before = await blocksOfCommands();
  const { lists } = await waitingCommands(sql, { most: 100, together: 10 });
  expect(await blocksOfCommands()).toBe(before);
  expect(lists.flatMap(({ ids }) => ids).map(Number)).toEqual(
    Array.from({ length: 10 }, (_, n) => 2 * n + 2),
  );
  const rows = await readCommandRows(sql, lists[0]?.ids ?? []);
  expect(rows.map(({ id }) => Number(id))).toEqual(Array.from({ length: 10 }, (_, n) => 2 * n + 2));
  await sql.end();
  await database.drop();
});
