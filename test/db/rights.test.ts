import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import {
  documentedRights,
  grantedRights,
  type Role,
  rightsText,
  roles,
  withRights,
} from "../support/database-rights.ts";

const document = readFileSync(new URL("../../docs/database-roles.md", import.meta.url), "utf8");
const documented = documentedRights(document);

let database: TestDatabase;
let owner: Sql;
const as = new Map<Role, Sql>();

beforeAll(async () => {
  database = await testDatabase();
  owner = connect({ DATABASE_URL: database.url });
  await owner.unsafe("select carillon.attach_days('2031-01-01', '2031-01-01')");
  for (const role of roles) {
    const name = `${role}_${randomBytes(4).toString("hex")}`;
    await owner.unsafe(`create role ${name} login password 'test' in role carillon_${role}`);
    const url = new URL(database.url);
    url.username = name;
    url.password = "test";
    as.set(role, connect({ DATABASE_URL: url.href }));
  }
});
afterAll(async () => {
  for (const sql of as.values()) await sql.end();
  await owner.end();
  await database.drop();
});

/** The outcome of a statement; its changes are rolled back. */
async function codeOf(role: Role, statement: string): Promise<string> {
  const sql = as.get(role);
  if (sql === undefined) throw new Error(`There is no connection as ${role}.`);
  class Undone extends Error {}
  try {
    await sql.begin(async (tx) => {
      await tx.unsafe(statement);
      throw new Undone();
    });
  } catch (error) {
    if (error instanceof Undone) return "allowed";
    if (error instanceof Error && "code" in error) return String(error.code);
    throw error;
  }
  return "allowed";
}

/** The outcomes of many statements that change nothing, all sent at once. */
function codesOf(role: Role, statements: readonly string[]): Promise<string[]> {
  const sql = as.get(role);
  if (sql === undefined) throw new Error(`There is no connection as ${role}.`);
  return Promise.all(
    statements.map((statement) =>
      sql.unsafe(statement).then(
        () => "allowed",
        (error: { code: string }) => error.code,
      ),
    ),
  );
}

const refused = "42501";

test("docs/database-roles.md has exactly the granted rights, which `npm run schema` writes", async () => {
  const granted = await grantedRights(owner);
  expect(granted.map(({ of }) => Object.keys(of).length).every((count) => count > 10)).toBe(true);
  expect(document).toBe(withRights(document, rightsText(granted)));
});

test("a function with its owner's rights resolves names only in schemas where no other role can create any", async () => {
  const definers = await owner<{ name: string; path: string | null }[]>`
    select p.oid::regprocedure::text as name, (select c from unnest(p.proconfig) c where c like 'search_path=%') as path
    from pg_proc p where p.pronamespace = 'carillon'::regnamespace and p.prosecdef`;
  expect(definers.length).toBeGreaterThan(20);
  expect(definers.filter(({ path }) => path !== "search_path=pg_catalog, pg_temp")).toEqual([]);
});

interface Column {
  table: string;
  column: string;
  view: boolean;
  generated: boolean;
}

/**
 * Statements that try each right on each table, column by column if rights may differ, and whether
 * the document allows each of them.
 */
async function triesOf(role: Role): Promise<{ statement: string; allowed: boolean }[]> {
  const columns = await owner<Column[]>`
    select c.relname as table, a.attname as column, c.relkind = 'v' as view, a.attgenerated <> '' as generated from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'carillon'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition and a.attnum > 0
      and not a.attisdropped order by 1, a.attnum`;
  const tables = new Map(columns.map((each) => [each.table, each.view]));
  return [
    ...[...tables].flatMap(([table, view]) => {
      const may = (right: string) => documented[table]?.[role].split(", ").includes(right) === true;
      if (view) return [];
      return [{ statement: `delete from carillon.${table} where false`, allowed: may("delete") }];
    }),
    ...columns.flatMap(({ table, column, view, generated }) => {
      const words = documented[table]?.[role] ?? "";
      const may = (right: string) => mayOn(words, right, column);
      const select = { statement: `select ${column} from carillon.${table} limit 0`, allowed: may("select") };
      // The server writes generated columns, and refuses a statement on them before it checks
      // rights.
      if (view || generated) return [select];
      return [
        select,
        {
          statement: `update carillon.${table} set ${column} = default where false`,
          allowed: may("update"),
        },
        {
          statement: `insert into carillon.${table} (${column}) overriding user value select null where false`,
          allowed: may("insert"),
        },
      ];
    }),
  ];
}

/**
 * Whether `select, update (offer_at, offers)` grants a right on the whole table or on this column.
 */
function mayOn(words: string, right: string, column: string): boolean {
  const limited = new RegExp(`\\b${right} \\(([^)]*)\\)`).exec(words)?.[1];
  if (limited !== undefined) return limited.split(", ").includes(column);
  return new RegExp(`\\b${right}\\b`).test(words.replace(/\([^)]*\)/g, ""));
}

describe.each(roles)("as %s", (role) => {
  test("a role has exactly the documented rights on tables and columns", async () => {
    const tries = await triesOf(role);
    expect(tries.length).toBeGreaterThan(300);
    const codes = await codesOf(
      role,
      tries.map(({ statement }) => statement),
    );
    const wrong = tries.filter(({ allowed }, index) => (codes[index] === refused) === allowed);
    expect(wrong).toEqual([]);
  });

  test("a role can truncate no table", async () => {
    for (const name of Object.keys(documented).filter((each) => !/[(]|_seq$|revisions$/.test(each))) {
      // For a view the server reports the wrong kind of object.
      expect([refused, "42809"], name).toContain(await codeOf(role, `truncate carillon.${name}`));
    }
  });

  test("a role is refused each function that is not documented for it", async () => {
    const functions = await owner<{ name: string; call: string }[]>`
      select format('%s(%s)', p.proname, replace(oidvectortypes(p.proargtypes), 'timestamp with time zone', 'timestamptz')) as name,
        format('select carillon.%I(%s)', p.proname, coalesce((select string_agg(format('(select null::%s)', format_type(t.type, null)), ', ' order by t.place)
          from unnest(p.proargtypes) with ordinality t (type, place)), '')) as call
      from pg_proc p where p.pronamespace = 'carillon'::regnamespace and p.prokind = 'f'`;
    const closed = functions.filter(({ name }) => documented[name]?.[role] === "");
    expect(closed.length).toBeGreaterThan(20);
    const open: string[] = [];
    for (const { name, call } of closed)
      if ((await codeOf(role, call)) !== refused) open.push(`${name}: ${await codeOf(role, call)}`);
    expect(open).toEqual([]);
  });

  test("a role has no access to a day's partition by the name of the partition, even if it may read the rows through the parent table", async () => {
    const days = await owner<{ name: string; later: boolean }[]>`
      select c.oid::regclass::text as name, c.relname like '%20310101' as later from pg_class c
      where c.relnamespace = 'carillon'::regnamespace and c.relispartition and c.relkind = 'r'`;
    expect(days.filter(({ later }) => later).length).toBeGreaterThan(2);
    for (const { name, later } of days) {
      const tried = [`delete from ${name} where false`, `drop table ${name}`];
      // Roles may read the first partitions: those existed when a right to read all tables was
      // granted.
      if (later) tried.push(`select from ${name}`);
      for (const statement of tried) expect(await codeOf(role, statement), statement).toBe(refused);
    }
  });

  test.each([
    "create table carillon.mine (n int)",
    "create table public.mine (n int)",
    "create schema mine",
    "create function carillon.mine() returns int language sql as 'select 1'",
    "create or replace function carillon.clock() returns timestamptz language sql as 'select now()'",
    "drop function carillon.clock()",
    "alter function carillon.clock() owner to current_user",
    "alter table carillon.jobs add column mine int",
    "alter table carillon.jobs disable trigger all",
    "create index mine on carillon.jobs (state)",
    "create trigger mine before insert on carillon.jobs for each row execute function carillon.note_tags()",
    "create policy mine on carillon.jobs",
    "drop table carillon.jobs",
    "drop schema carillon cascade",
    "insert into carillon.migrations (number, name) values (9999, 'mine')",
    "select from pg_authid",
    "select from pg_shadow",
    "create role mine",
    "alter role carillon_worker createdb",
    "alter role carillon_api password 'mine'",
    "alter role carillon_tick set statement_timeout = 0",
    "alter role current_user superuser",
    "grant carillon_api to carillon_caller",
    "set session authorization carillon_api",
    "set session_replication_role = replica",
    "select pg_reload_conf()",
    "select pg_read_file('PG_VERSION')",
    "select lo_import('PG_VERSION')",
    "copy (select 1) to program 'true'",
    "copy (select 1) to '/tmp/carillon-must-not-be'",
    "create extension dblink",
    "create language plpython3u",
    "create publication mine for table carillon.jobs",
    "select pg_create_physical_replication_slot('mine')",
    "create event trigger mine on ddl_command_start execute function carillon.note_tags()",
  ])("this statement is refused: %s", async (statement) => {
    expect(await codeOf(role, statement)).toBe(refused);
  });

  test("statements that run only outside a transaction are refused too", async () => {
    const statements = ["alter system set log_statement = 'all'", "create database mine"];
    expect(await codesOf(role, statements)).toEqual([refused, refused]);
  });

  const members: Partial<Record<Role, Role[]>> = { handler: ["worker"], ingest: ["handler", "worker"] };
  test.each(roles.filter((other) => other !== role && members[role]?.includes(other) !== true))(
    "this role cannot become %s",
    async (other) => {
      expect(await codeOf(role, `set role carillon_${other}`)).toBe(refused);
    },
  );
});
