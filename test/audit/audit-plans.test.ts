import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AuditFilter } from "../../lib/audit/find-entries.ts";
import { readAudit } from "../../lib/audit/read-audit.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { type Touched, touched } from "../support/touched.ts";

const entries = 200_000;
const first = new Date("2026-01-01T00:00:00Z");
const at = (second: number) => new Date(first.getTime() + second * 1_000);

/**
 * The audit of three teams: one has most of the entries, one has 100 old entries, and one has every
 * 2,000th. A rare actor and a rare action are old as well.
 */
async function fill(sql: Sql): Promise<void> {
  await sql`
    insert into carillon.audit (at, actor, action, subject, schedule_id, version, prefix)
    select ${first}::timestamptz + n * interval '1 second',
      case when n = 50 then 'rare' else 'shop-' || n % 5 end,
      case when n = 60 then 'rare.done' when n % 3 = 0 then 'schedule.created' else 'schedule.fired' end,
      case when n <= 100 then 'old:' || n when n % 2000 = 0 then 'some:' || n else 'big:' || n % 20000 end,
      n % 20000, 1, case when n = 70 then 'old:' end
    from generate_series(1, ${entries}) n`;
}

describe.each([
  ["without statistics", false],
  ["with statistics", true],
])("an audit of 200,000 entries %s", (_, isAnalyzed) => {
  let database: TestDatabase;
  let sql: Sql;

  beforeAll(async () => {
    database = await testDatabase();
    sql = connect({ DATABASE_URL: database.url }, { max: 1 });
    await fill(sql);
    await sql`set jit = off`;
    // Also marks its pages as visible to all, as autovacuum does after inserts.
    if (isAnalyzed) await sql`vacuum analyze carillon.audit`;
  });

  afterAll(async () => {
    await sql.end();
    await database.drop();
  });

  async function looked(filter: AuditFilter, limit = 50): Promise<{ read: number; touched: Touched }> {
    let read = 0;
    const seen = await touched(sql, async () => {
      read = (await readAudit(sql, { filter, limit })).items.length;
    });
    return { read, touched: seen };
  }

  const readOf = ({ index }: Touched) => Object.values(index).reduce((sum, each) => sum + each, 0);

  test.each<[string, AuditFilter, number, number]>([
    ["everything", {}, 50, 500],
    ["a time", { from: at(1_000), to: at(1_020) }, 20, 500],
    ["a subject", { subject: "big:7" }, 9, 500],
    ["a subject and an actor", { subject: "big:7", actor: "shop-2" }, 9, 500],
    ["an actor", { actor: "shop-1" }, 50, 500],
    ["a rare actor", { actor: "rare" }, 1, 500],
    ["an action", { action: "schedule.fired" }, 50, 12_000],
    ["a rare action, not within one page", { action: "rare.done" }, 0, 12_000],
    ["an actor up to a time", { actor: "shop-1", to: at(5_000) }, 50, 500],
    ["a prefix that most entries have", { prefix: "big:" }, 50, 501],
    ["a prefix that only old entries have", { prefix: "old:" }, 50, 12_000],
    ["a prefix that few entries have", { prefix: "some:" }, 50, 12_000],
    ["a prefix that no entry has", { prefix: "none:" }, 0, 12_000],
  ])(
    "a search of the audit for %s uses an index and reads few other entries",
    async (_name, filter, read, most) => {
      const seen = await looked(filter);
      expect(seen.read).toBe(read);
      expect(Object.entries(seen.touched.scanned).filter(([table]) => table === "audit")).toEqual([]);
      // Without statistics the planner treats a search of 10,000 entries as one of the whole table.
      expect(readOf(seen.touched)).toBeLessThan(isAnalyzed || most === 500 ? most : 2 * entries);
    },
  );

  test("a page of the audit reads a limited number of entries, and says where the next page continues", async () => {
    const filter = { actor: "shop-1", action: "rare.done" };
    const page = await readAudit(sql, { filter, limit: 50 });
    expect(page).toMatchObject({ items: [], next: { at: expect.any(Date) } });
    let pages = 1;
    for (let { next } = page; next !== undefined; pages += 1)
      next = (await readAudit(sql, { filter, limit: 50, before: next })).next;
    expect(pages).toBe(Math.floor(entries / 5 / 10_000) + 1);
  });

  test("a rare action is found in the end, page by page", async () => {
    const found: string[] = [];
    for (let before: Parameters<typeof readAudit>[1]["before"], n = 0; n <= entries / 10_000; n++) {
      const { items, next } = await readAudit(sql, { filter: { action: "rare.done" }, limit: 50, before });
      found.push(...items.map(({ action }) => action));
      before = next;
    }
    expect(found).toEqual(["rare.done"]);
  });

  test("a search by prefix returns each entry once, from the newest entries as from the index of subjects", async () => {
    const ids: string[] = [];
    for (let before: Parameters<typeof readAudit>[1]["before"], n = 0; n < 100; n++) {
      const { items, next } = await readAudit(sql, { filter: { prefix: "some:" }, limit: 7, before });
      ids.push(...items.map(({ id }) => id));
      if (next === undefined) break;
      before = next;
    }
    expect(ids).toHaveLength(entries / 2_000);
    expect(new Set(ids).size).toBe(ids.length);
    const all = await readAudit(sql, { filter: { prefix: "old:" }, limit: 100 });
    expect(all.items).toHaveLength(100);
  });
});
