import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";

let database: TestDatabase;
let sql: Sql;

beforeAll(async () => {
  database = await testDatabase();
  sql = connect({ DATABASE_URL: database.url }, { max: 1 });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

/** The settings of each table, or of the days of a partitioned one, in the form of the page. */
async function settings(): Promise<Map<string, string>> {
  const rows = await sql<{ name: string; settings: string }[]>`
    select distinct case when c.relispartition then regexp_replace(c.relname, '_[0-9]{8}$', '') || ', each day' else c.relname end as name,
      (select string_agg(substr(o, 12), ', ' order by o) from unnest(c.reloptions) o where o like 'autovacuum\_%') as settings
    from pg_class c where c.relnamespace = 'carillon'::regnamespace and c.relkind = 'r'
      and exists (select from unnest(c.reloptions) o where o like 'autovacuum\_%')`;
  return new Map(rows.map(({ name, settings }) => [name, settings]));
}

test("docs/retention.md lists the settings of autovacuum that the tables have, each with its reason", async () => {
  const page = readFileSync(new URL("../../docs/retention.md", import.meta.url), "utf8");
  const table = page.slice(
    page.indexOf("<!-- autovacuum: begin -->"),
    page.indexOf("<!-- autovacuum: end -->"),
  );
  const told = [...table.matchAll(/^\| `(\w+)`(, each day)? \| `([^`]+)` \| (.+) \|$/gm)];
  expect(new Map(told.map(([, name = "", days = "", said = ""]) => [name + days, said]))).toEqual(
    await settings(),
  );
  for (const [, name, , , reason = ""] of told) expect(reason.length, name).toBeGreaterThan(5);
});

test("a day that is attached later has the settings of autovacuum as well", async () => {
  await sql`select carillon.attach_days('2031-01-01', '2031-01-01')`;
  const [day] = await sql`select reloptions from pg_class where relname = 'jobs_20310101'`;
  expect(day?.["reloptions"]).toContain("autovacuum_freeze_min_age=0");
});
