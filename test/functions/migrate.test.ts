import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { MigrationEvent } from "../../functions/migrate.ts";
import { functionRoles } from "../../lib/db/migrate/iam-logins.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { findToken } from "../../lib/token/token.ts";
import { databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { watchPreparedNames } from "../support/prepared-names.ts";
import { schemaDump } from "../support/schema-dump.ts";
import { create, migrationFunction, update } from "./migration-function.ts";

const own = migrationFunction();

const begunAnswer = z.object({
  PhysicalResourceId: z.string(),
  Data: z.object({ begunAt: z.string(), state: z.enum(["done", "unfinished"]) }),
});

test("The migration of a new stack makes its tables, its functions' logins and its first admin token", async () => {
  const result = await own.invoke(create("first"), { first: "the-first-token" });
  expect(result).toMatchObject({ PhysicalResourceId: "carillon-migration" });
  expect(await findToken(own.sql, "the-first-token")).toMatchObject({ scope: "admin" });
  const roles = await own.sql`
    select rolname, rolcanlogin, rolsuper, pg_has_role(rolname, 'rds_iam', 'member') as by_iam
    from pg_roles where rolname in ('carillon_tick', 'carillon_worker', 'carillon_handler', 'carillon_api') order by rolname`;
  expect(roles).toEqual(
    ["carillon_api", "carillon_handler", "carillon_tick", "carillon_worker"].map((rolname) => ({
      rolname,
      rolcanlogin: true,
      rolsuper: false,
      by_iam: true,
    })),
  );
});

test("The migration prepares no statement by name, because it changes the tables of a plan", async () => {
  const watched = await watchPreparedNames(own.databaseUrl);
  await own.invoke(create("first"), { first: "the-first-token" }, { through: watched.url });
  expect([watched.names(), watched.prepared() > 0]).toEqual([[], true]);
});

test("The server closes a function's session that idles for a minute, such as that of a frozen environment", async () => {
  await own.invoke(create("first"), { first: "the-first-token" });
  const settings = await own.sql<{ role: string; kept: string[] }[]>`
    select setrole::regrole::text as role, setconfig as kept
    from pg_db_role_setting join pg_database on setdatabase = pg_database.oid
    where datname = current_database() and setrole::regrole::text = any(${[...functionRoles]})`;
  expect(settings).toHaveLength(functionRoles.length);
  for (const { kept } of settings) expect(kept).toContain("idle_session_timeout=60s");
});

test("The migration of a release older than the database is refused and changes nothing", async () => {
  await own.invoke(create("first"), { first: "the-first-token" });
  await own.sql`insert into carillon.migrations (number, name) select max(number) + 1, 'of-a-newer-release' from carillon.migrations`;
  await own.sql`alter role carillon_tick nologin`;
  const before = await schemaDump(own.sql);
  await expect(own.invoke(update("first", "second"), { second: "the-second-token" })).rejects.toThrow(
    "Nothing was changed.",
  );
  expect(await schemaDump(own.sql)).toBe(before);
  expect(await findToken(own.sql, "the-second-token")).toBeNull();
  const [tick] = await own.sql`select rolcanlogin from pg_roles where rolname = 'carillon_tick'`;
  expect(tick).toEqual({ rolcanlogin: false });
});

test("A second run of the migration changes nothing and brings back no deleted token", async () => {
  await own.invoke(create("first"), { first: "the-first-token" });
  await own.sql`delete from carillon.tokens`;
  const again = await own.invoke(update("first", "first"), { first: "the-first-token" });
  expect(again).toMatchObject({ PhysicalResourceId: "carillon-migration", Data: { state: "done" } });
  expect(await findToken(own.sql, "the-first-token")).toBeNull();
});

test("The migration makes a new token for a new secret and leaves the other tokens alone", async () => {
  await own.invoke(create("first"), { first: "the-first-token" });
  await own.invoke(update("first", "second"), { second: "the-second-token" });
  expect(await findToken(own.sql, "the-first-token")).not.toBeNull();
  expect(await findToken(own.sql, "the-second-token")).not.toBeNull();
});

test("A deployment that cannot read its token's secret fails, and the next one makes the token", async () => {
  await expect(own.invoke(create("first"))).rejects.toThrow("ResourceNotFoundException");
  await own.invoke(create("first"), { first: "the-first-token" });
  expect(await findToken(own.sql, "the-first-token")).not.toBeNull();
});

test("The migration gives another database its first token, unless that database has been used", async () => {
  const secrets = { first: "the-first-token" };
  const moved = update("first", "first", {
    from: "here:5432/carillon",
    to: "there:5432/carillon",
    mayBeEmpty: "true",
  });
  await own.invoke(moved, secrets);
  expect(await findToken(own.sql, "the-first-token")).toMatchObject({ scope: "admin" });
  // A database from a backup in which the first token had been deleted.
  await own.sql`insert into carillon.audit (at, actor, action, subject) values (now(), 'somebody', 'token.deleted', 'first')`;
  await own.sql`delete from carillon.tokens`;
  await own.invoke(moved, secrets);
  expect(await findToken(own.sql, "the-first-token")).toBeNull();
});

test("The migration refuses a database of the test kit, whose clock stands still", async () => {
  await own.invoke(create("first"), { first: "the-first-token" });
  await databaseClock(own.sql, "2027-03-28T00:00:00Z");
  await expect(own.invoke(update("first", "first"))).rejects.toThrow("made by the test kit");
});

test("Deleting the migration's resource from the stack changes nothing in the database", async () => {
  await own.invoke(create("first"), { first: "the-first-token" });
  await own.invoke({ RequestType: "Delete" });
  expect(await findToken(own.sql, "the-first-token")).not.toBeNull();
});

test("The migration refuses an event that does not come from CloudFormation", async () => {
  const odd = { RequestType: "Destroy" } as unknown as MigrationEvent;
  await expect(own.invoke(odd)).rejects.toThrow("RequestType");
});

describe("a later release", () => {
  let newer: string;
  let number: number;
  const next = (text: string, name = "later") =>
    writeFile(path.join(newer, `${String(number).padStart(4, "0")}-${name}.sql`), text);

  beforeEach(async () => {
    newer = await mkdtemp(path.join(tmpdir(), "carillon-newer-"));
    await cp(migrationsDirectory, newer, { recursive: true });
    number = ((await readMigrations(newer)).at(-1)?.number ?? 0) + 1;
    await own.invoke(create("first"), { first: "the-first-token" });
  });
  afterEach(() => rm(newer, { recursive: true }));

  test("A migration that needs many calls continues with each call, and is given up after 55 minutes", async () => {
    await own.sql.unsafe("create table carillon.things (id int primary key, marked boolean)");
    await own.sql.unsafe("insert into carillon.things select n from generate_series(1, 100) n");
    await next(`-- carillon: in batches
      with portion as (select id from carillon.things where id > coalesce($1::text::int, 0) order by id limit 34),
        written as (update carillon.things t set marked = true from portion p where t.id = p.id)
      select max(id)::text as place from portion`);
    // The time is over from the start, so each call does one portion, however fast the machine is.
    const little = { ms: 0, directory: newer };
    const marked = async () =>
      (await own.sql<{ count: number }[]>`select count(*)::int from carillon.things where marked`)[0]?.count;

    const event = update("first", "first");
    const begun = begunAnswer.parse(await own.invoke(event, {}, little));
    expect(begun.Data.state).toBe("unfinished");
    expect(await marked()).toBe(34);
    // With the first call's answer, as the CDK's provider passes it on.
    const again = { ...event, ...begun };
    expect(await own.invoke(again, {}, little)).toEqual({ IsComplete: false });
    expect(await marked()).toBe(68);
    const begunAt = new Date(Date.now() - 56 * 60_000).toISOString();
    const late = { ...event, Data: { ...begun.Data, begunAt } };
    // Even if the call itself has time left: CloudFormation no longer waits for its answer.
    await expect(own.invoke(late, {}, { directory: newer })).rejects.toThrow(
      /After 55 minutes .* is still to be applied/,
    );
    expect(await marked()).toBe(68);
    expect(await own.invoke(again, {}, little)).toEqual({ IsComplete: false });
    expect(await own.invoke(again, {}, little)).toEqual({ IsComplete: true });
    const [applied] = await own.sql`select name from carillon.migrations where number = ${number}`;
    expect(applied).toEqual({ name: "later" });
  });

  test("After a failed release, the former release accepts the newer database and does not change it", async () => {
    await next(`-- carillon: back to ${number - 1}\ncreate table carillon.later (n int);`);
    const forth = { first: "the-first-token", second: "the-second-token" };
    expect(await own.invoke(update("first", "second"), forth, { directory: newer })).toMatchObject({
      Data: { state: "done" },
    });
    await own.sql`delete from carillon.tokens`;
    const before = await schemaDump(own.sql);
    await own.sql`alter role carillon_tick nologin`;
    // The former code runs, and the event's old and new properties are swapped.
    const back = begunAnswer.parse(await own.invoke(update("second", "first"), forth));
    expect(back.Data.state).toBe("done");
    expect(await own.invoke({ ...update("second", "first"), ...back }, forth)).toEqual({ IsComplete: true });
    expect(await schemaDump(own.sql)).toBe(before);
    expect(await own.sql`select from carillon.tokens`).toEqual([]);
    // The functions log in as the former release's properties say, which may differ from the newer
    // one's.
    const [tick] = await own.sql`select rolcanlogin from pg_roles where rolname = 'carillon_tick'`;
    expect(tick).toEqual({ rolcanlogin: true });
    // The repaired newer release finds its migration applied.
    expect(await own.invoke(update("first", "second"), forth, { directory: newer })).toMatchObject({
      Data: { state: "done" },
    });
  });

  test("A new stack of an older release refuses the database of a later one, even a compatible one", async () => {
    await next(`-- carillon: back to ${number - 1}\ncreate table carillon.later (n int);`);
    await own.invoke(update("first", "first"), {}, { directory: newer });
    await expect(own.invoke(create("first"), { first: "the-first-token" })).rejects.toThrow(
      "Nothing was changed.",
    );
  });
});
