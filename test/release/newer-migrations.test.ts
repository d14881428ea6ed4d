import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { migrationFrom, migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { previousRelease } from "../../lib/tools/migration/previous-release.ts";
import { faultsOfKind } from "./kind.ts";
import { unsafeIn } from "./unsafe.ts";

const { lastMigration, migrationsDigest } = previousRelease;

test("a released migration is never edited, since databases have applied it", async () => {
  const released = (await readMigrations(migrationsDirectory)).slice(0, lastMigration);
  expect(released).toHaveLength(lastMigration);
  const digest = createHash("sha256");
  for (const { text } of released) digest.update(text);
  expect(digest.digest("hex")).toBe(migrationsDigest);
});

test("a newer migration keeps the previous release's functions working, or says why it may break them", async () => {
  const newer = (await readMigrations(migrationsDirectory)).slice(lastMigration);
  const faults = newer.flatMap((migration) =>
    [...unsafeIn(migration.text, migration.kind), ...faultsOfKind(migration)].map(
      (fault) => `migration ${migration.number}, ${fault}`,
    ),
  );
  expect(faults).toEqual([]);
});

describe("the check of migrations", () => {
  test.each([
    ["alter table carillon.jobs drop column note", "may still use the dropped object"],
    ["drop function carillon.settle(bigint)", "may still use the dropped object"],
    ["alter table carillon.jobs rename column note to remark", "only the old name"],
    ["alter function carillon.settle(bigint) rename to settle_one", "only the old name"],
    ["revoke select on carillon.jobs from carillon_tick", "may still need the right"],
    ["alter table carillon.jobs add column note text not null", "without a default"],
    ["alter table carillon.jobs add note text, add mark int not null", "without a default"],
    ["alter table carillon.jobs alter column note set not null", "may leave it out"],
    ["alter table carillon.jobs alter note type varchar(9)", "is rewritten"],
    ["alter table carillon.jobs add column id uuid not null default gen_random_uuid()", "differs by row"],
    ["alter table carillon.jobs add constraint short check (length(note) < 9)", "not valid"],
    ["alter table carillon.jobs add constraint one unique (note)", "its index is built"],
    ["create index jobs_by_note on carillon.jobs (note)", "writes to the table wait"],
    [
      "create trigger kept before insert on carillon.jobs for each row execute function carillon.keep()",
      "also runs for writes",
    ],
    ["update carillon.jobs set note = ''", "rows stay locked"],
    ["do $$ begin delete from carillon.jobs; end $$", "rows stay locked"],
    ["do $do$ begin alter table carillon.jobs drop column note; end $do$", "may still use"],
  ])("the check of migrations reports the unsafe statement: %s", (text, why) => {
    expect(unsafeIn(`-- A comment.\n${text};`)).toEqual([expect.stringContaining(why)]);
  });

  test.each([
    "alter table carillon.jobs add column note text",
    "alter table carillon.jobs add column note text not null default ''",
    "alter table carillon.jobs add column note text default '' not null, add column mark int",
    "alter table carillon.jobs alter column note drop not null",
    "alter table carillon.jobs add constraint short check (length(note) < 9) not valid",
    "alter table carillon.jobs validate constraint short",
    "create table carillon.notes (key text primary key, note text not null);\ncreate index notes_by_note on carillon.notes (note)",
    "create or replace function carillon.f() returns void language sql as $$ delete from carillon.jobs; $$",
    "revoke execute on function carillon.f() from public",
    "grant select on carillon.jobs to carillon_tick",
    "insert into carillon.marks (mark) values (1) on conflict (mark) do update set mark = 1",
    "comment on table carillon.jobs is 'we never drop column; nor rename'",
    "-- drop table carillon.jobs;\nselect 1",
    "-- safe: since 0028 nobody has read it\nalter table carillon.jobs drop column note",
  ])("the check of migrations accepts the safe migration: %s", (text) => {
    expect(unsafeIn(`${text};`)).toEqual([]);
  });

  test("the check of migrations accepts a migration in batches that changes rows, since each batch commits", () => {
    const text =
      "with portion as (select 1), written as (update carillon.jobs set note = '') select $1 as place";
    expect(unsafeIn(text)).toHaveLength(1);
    expect(unsafeIn(text, "batches")).toEqual([]);
  });

  const back = `-- carillon: back to ${lastMigration}`;

  test.each([
    ["", "select 1", `back to ${lastMigration}`],
    [`-- carillon: back to ${lastMigration - 1}`, "select 1", `back to ${lastMigration}`],
    [back, "create index concurrently if not exists a on carillon.b (c)", "only outside"],
    [
      `${back}\n-- carillon: outside a transaction`,
      "create index concurrently a on carillon.b (c)",
      "run again",
    ],
    [`${back}\n-- carillon: outside a transaction`, "insert into carillon.b values (1)", "run again"],
    [`${back}\n-- carillon: in batches`, "select 1 as place", "after $1"],
    [`${back}\n-- carillon: in batches`, "select $1 as place; select 2", "one statement"],
  ])("the check of migrations reports a fault in the kind of a migration: %s %s", (says, text, why) => {
    const migration = migrationFrom(lastMigration + 1, "one", `${says}\n${text};`);
    expect(faultsOfKind(migration)).toEqual([expect.stringContaining(why)]);
  });

  test("the check of migrations requires a reason for each statement, and reports the line of a statement without one", () => {
    const text = "-- safe: nobody reads it\nalter table carillon.a drop b;\n\nalter table carillon.a drop c;";
    expect(unsafeIn(text)).toEqual([expect.stringMatching(/^line 4: alter table carillon\.a drop c: /)]);
    expect(unsafeIn("-- safe:\ndrop table carillon.a;")).toHaveLength(1);
  });
});
