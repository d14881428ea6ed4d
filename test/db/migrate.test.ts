import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { migrate, NewerDatabase, OtherDatabase } from "../../lib/db/migrate/migrate.ts";
import {
  type Migration,
  migrationFrom,
  migrationsDirectory,
  readMigrations,
} from "../../lib/db/migrate/migration.ts";
import { silentLog } from "../../lib/log/log.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { schemaDump } from "../support/schema-dump.ts";

let database: TestDatabase;
let sql: Sql;

beforeEach(async () => {
  database = await testDatabase("empty");
  sql = connect({ DATABASE_URL: database.url }, { max: 2 });
});

afterEach(async () => {
  await sql.end();
  await database.drop();
});

const all = () => readMigrations(migrationsDirectory);
const applied = () => sql`select number from carillon.migrations order by number`;
const step = (number: number, text: string): Migration => migrationFrom(number, `step-${number}`, text);

describe("the migrations", () => {
  test("migrations are applied in order, and a second run does nothing", async () => {
    const migrations = await all();
    expect((await migrate(sql, migrations, silentLog)).applied).toEqual(migrations.map(({ name }) => name));
    const before = await schemaDump(sql);
    expect(await migrate(sql, migrations, silentLog)).toEqual({ applied: [] });
    expect(await schemaDump(sql)).toBe(before);
    expect(await applied()).toEqual(migrations.map(({ number }) => ({ number })));
  });

  test("migrations are applied once by several concurrent runs", async () => {
    const migrations = await all();
    const others = Array.from({ length: 3 }, () => connect({ DATABASE_URL: database.url }));
    try {
      const runs = await Promise.all([sql, ...others].map((each) => migrate(each, migrations, silentLog)));
      expect(runs.flatMap((run) => run.applied).sort()).toEqual(migrations.map(({ name }) => name).sort());
    } finally {
      for (const other of others) await other.end();
    }
  });

  test("migrations of a release that is older than the database are refused, and the database stays unchanged", async () => {
    const migrations = await all();
    await migrate(sql, migrations, silentLog);
    await expect(migrate(sql, migrations.slice(0, -1), silentLog)).rejects.toThrow(NewerDatabase);
    expect(await applied()).toHaveLength(migrations.length);
  });

  test("migrations are refused on a database that other code has made, which stays unchanged", async () => {
    await migrate(sql, [step(1, "create table carillon.one (n int)")], silentLog);
    const others = [migrationFrom(1, "types", "select 1"), step(2, "create table carillon.two (n int)")];
    const refused = expect(migrate(sql, others, silentLog)).rejects;
    await refused.toThrow(OtherDatabase);
    await refused.toThrow('The database has "step-1" as migration 1; this release has "types".');
    expect(await applied()).toEqual([{ number: 1 }]);
  });

  test("migrations are refused on a database that an earlier text of them has made; another comment is no other text", async () => {
    await migrate(sql, [step(1, "create table carillon.one (n int)")], silentLog);
    const commented = step(1, "-- Rows of one.\n\n  create table carillon.one (n int)");
    expect(await migrate(sql, [commented], silentLog)).toEqual({ applied: [] });
    const others = [
      step(1, "create table carillon.one (n bigint)"),
      step(2, "create table carillon.two (n int)"),
    ];
    const refused = expect(migrate(sql, others, silentLog)).rejects;
    await refused.toThrow(OtherDatabase);
    await refused.toThrow(
      "Migration 1 (step-1) of the database had other statements than that of this release.",
    );
    expect(await applied()).toEqual([{ number: 1 }]);
  });

  test("a database from before migrations had a digest is refused, and keeps its tables", async () => {
    await sql.unsafe(`
      create schema carillon;
      create table carillon.migrations (number int primary key, name text not null, applied_at timestamptz(3) not null default clock_timestamp(), back_to int);
      insert into carillon.migrations (number, name) values (1, 'step-1')`);
    await expect(migrate(sql, [step(1, "select 1")], silentLog)).rejects.toThrow(OtherDatabase);
    expect(await applied()).toEqual([{ number: 1 }]);
  });

  test("each migration is a transaction: a failed one is rolled back, and those before it stay", async () => {
    const steps = [
      step(1, "create table carillon.one (n int)"),
      step(2, "create table carillon.two (n int); select 1 / 0"),
      step(3, "create table carillon.three (n int)"),
    ];
    await expect(migrate(sql, steps, silentLog)).rejects.toThrow("division by zero");
    const tables = await sql`select tablename from pg_tables where schemaname = 'carillon' order by 1`;
    expect(tables.map(({ tablename }) => tablename)).toEqual(["migrations", "one", "unfinished_migrations"]);
    expect(await applied()).toEqual([{ number: 1 }]);
    const mended = steps.map((each) =>
      each.number === 2 ? step(2, "create table carillon.two (n int)") : each,
    );
    expect(await migrate(sql, mended, silentLog)).toEqual({ applied: ["step-2", "step-3"] });
  });

  test("the migrations make exactly the schema in test/fixtures/schema.sql, which `npm run schema` writes", async () => {
    await migrate(sql, await all(), silentLog);
    const recorded = await readFile(new URL("../fixtures/schema.sql", import.meta.url), "utf8");
    expect(await schemaDump(sql)).toBe(recorded);
  });

  test("migrations are numbered without a gap", async () => {
    const numbers = (await all()).map(({ number }) => number);
    expect(numbers).toEqual(numbers.map((_, index) => index + 1));
  });
});
