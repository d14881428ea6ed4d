import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type MigrateLimits, migrateOnce, NewerDatabase } from "../../lib/db/migrate/migrate.ts";
import {
  type Migration,
  migrationFrom,
  migrationsDirectory,
  readMigrations,
} from "../../lib/db/migrate/migration.ts";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { recordedLog } from "../support/recorded-log.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let sql: Sql;
let released: Migration[];

beforeEach(async () => {
  database = await testDatabase();
  sql = open(2);
  released = await readMigrations(migrationsDirectory);
  await sql.unsafe("create table carillon.things (id int primary key, note text)");
  await sql.unsafe("insert into carillon.things select n from generate_series(1, 100) n");
});
afterEach(() => database.drop());

function open(max = 1): Sql {
  const opened = connect({ DATABASE_URL: database.url }, { max, applicationName: "carillon migrate" });
  onTestFinished(() => opened.end());
  return opened;
}

/** The migrations of this release, followed by these. */
const and = (...texts: string[]): Migration[] => [
  ...released,
  ...texts.map((text, index) => migrationFrom(released.length + index + 1, `step-${index + 1}`, text)),
];
const run = (migrations: Migration[], given: Partial<MigrateLimits> & { clock?: Clock; by?: Sql } = {}) => {
  const { clock = systemClock, by = sql, ...limits } = given;
  return migrateOnce({ sql: by, log, clock }, migrations, limits);
};
let log = recordedLog();
beforeEach(() => {
  log = recordedLog();
});

/**
 * A clock that only waits move, and each at once by its whole length. Waits of less than a second,
 * between two checks, do not move it.
 */
function hastyClock(onPause: (pauses: number) => Promise<void> = async () => {}): Clock {
  let now = Date.parse("2026-03-02T00:00:00Z");
  let pauses = 0;
  return {
    now: () => new Date(now),
    sleep: async (ms) => {
      await new Promise((resolve) => setImmediate(resolve));
      if (ms < 1_000) return;
      now += ms;
      pauses += 1;
      await onPause(pauses);
    },
  };
}

/** Holds the lock of a table until `letGo`. */
async function holding(table: string): Promise<{ pid: number; letGo(): Promise<void> }> {
  const blocker = open();
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const held = Promise.withResolvers<number>();
  const over = blocker.begin(async (tx) => {
    await tx.unsafe(`update ${table} set note = note where id = 1`);
    const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
    held.resolve(row?.pid ?? 0);
    // The last statement of the session contains a value that no report may show.
    await tx.unsafe(`select count(*) from ${table} where note is distinct from 'a secret of 1234'`);
    await released;
  });
  onTestFinished(async () => {
    letGo();
    await over;
  });
  return {
    pid: await held.promise,
    letGo: async () => {
      letGo();
      await over;
    },
  };
}

const numbers = async () =>
  (await sql`select number from carillon.migrations where number > ${released.length} order by 1`).map(
    ({ number }) => number - released.length,
  );
/** The process of the server that runs this statement now. */
const backend = (statement: string) =>
  until(`a session runs ${statement}`, async () => {
    const [found] = await sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'carillon migrate' and query ~ ${statement} and state = 'active'
        and datname = current_database() and pid <> pg_backend_pid()`;
    return found?.pid;
  });

describe("a migration that does not get its lock", () => {
  const alter = "alter table carillon.things add column mark int";

  test("a migration that does not get its lock lets the transactions behind it pass, retries, and succeeds when the lock is free", async () => {
    const held = await holding("carillon.things");
    const clock = hastyClock(async (pauses) => {
      // Between two attempts no other transaction has to wait.
      await sql`insert into carillon.things values (${1_000 + pauses}, '')`;
      if (pauses === 3) await held.letGo();
    });
    expect(await run(and(alter), { clock, lockTimeoutMs: 40 })).toMatchObject({ applied: ["step-1"] });
    const blocked = log.lines.filter(({ event }) => event === "migration.blocked");
    expect(blocked).toHaveLength(3);
  });

  test("a migration that never gets its lock is rolled back with an error that names the blocking session, without the values of its query", async () => {
    const held = await holding("carillon.things");
    const failing = run(and(alter), { clock: hastyClock(), lockTimeoutMs: 40, runMs: 20_000 });
    const error = await failing.then(
      () => new Error("It did not fail."),
      (reason: Error) => reason,
    );
    expect(error.message).toContain(`process ${held.pid} of postgres, there since 2`);
    expect(error.message).toContain("select count(*) from carillon.things where note is distinct from '…'");
    expect(error.message).not.toContain("1234");
    expect(await numbers()).toEqual([]);
    await held.letGo();
    expect(await run(and(alter))).toMatchObject({ applied: ["step-1"], left: undefined });
  });

  test("a migration is left to the next run if it waits for its lock after earlier migrations have used up the time of the run", async () => {
    const held = await holding("carillon.things");
    const clock = hastyClock();
    const first = await run(and("create table carillon.others (n int)", alter), {
      clock,
      lockTimeoutMs: 40,
      runMs: 3_000,
    });
    expect(first).toMatchObject({ applied: ["step-1"], left: expect.stringContaining("waits for a lock") });
    await expect(
      run(and("create table carillon.others (n int)", alter), { clock, lockTimeoutMs: 40, runMs: 3_000 }),
    ).rejects.toThrow("did not get its lock");
    await held.letGo();
  });
});

test("a transaction that takes longer than a run is cancelled by the server, and the error says what to do instead", async () => {
  const endless = and("select pg_sleep(600)");
  await expect(run(endless, { runMs: 60, lockTimeoutMs: 50 })).rejects.toThrow("Split it into batches");
  expect(await numbers()).toEqual([]);
});

test("a run whose connection is killed rolls back its migration, and the next run continues", async () => {
  const one = "create table carillon.one (n int)";
  const two = "create table carillon.two (n int)";
  const sleeping = and(one, `${two}; select pg_sleep(600)`);
  const failing = expect(run(sleeping)).rejects.toThrow("connection");
  const pid = await backend("pg_sleep");
  await open()`select pg_terminate_backend(${pid}, 5000)`;
  await failing;
  expect(await numbers()).toEqual([1]);
  expect(await sql`select to_regclass('carillon.two') as two`).toEqual([{ two: null }]);
  expect(await run(and(one, two))).toEqual({ applied: ["step-2"], left: undefined, ahead: false });
});

test("when two runs of the migrations meet, one waits, names the other, and then finds no work left", async () => {
  const held = await holding("carillon.things");
  const steps = and("alter table carillon.things add column mark int");
  const first = run(steps);
  await backend("alter table");
  const second = open(2);
  const meanwhile = await run(steps, { by: second, clock: hastyClock(), runMs: 3_000 });
  expect(meanwhile).toMatchObject({ applied: [], left: expect.stringContaining("another run migrates") });
  await held.letGo();
  expect(await first).toMatchObject({ applied: ["step-1"] });
  expect(await run(steps, { by: second })).toEqual({ applied: [], left: undefined, ahead: false });
});

describe("outside a transaction", () => {
  const index = "things_by_note";
  const build = `-- carillon: outside a transaction\ncreate index concurrently if not exists ${index} on carillon.things (note);`;
  const valid = async () =>
    (
      await sql`select indisvalid as valid from pg_index where indexrelid = to_regclass('carillon.things_by_note')`
    ).map((row) => row["valid"]);

  test("a migration outside a transaction builds an index while others write, and builds it again after a killed build", async () => {
    const held = await holding("carillon.things");
    const failing = expect(run(and(build))).rejects.toThrow("connection");
    const pid = await backend("create index");
    await until("the index exists", async () => (await valid()).length > 0);
    await open()`select pg_terminate_backend(${pid}, 5000)`;
    await failing;
    await held.letGo();
    expect(await valid()).toEqual([false]);
    expect(await run(and(build))).toMatchObject({ applied: ["step-1"] });
    expect(await valid()).toEqual([true]);
  });

  test("a migration's statement that outlives its run continues on the server, keeps other runs out, and is found done", async () => {
    const held = await holding("carillon.things");
    const first = await run(and(build), { runMs: 200 });
    expect(first).toMatchObject({
      applied: [],
      left: expect.stringContaining("still works on create index"),
    });
    const second = await run(and(build), { clock: hastyClock(), runMs: 2_000 });
    expect(second.left).toContain("another run migrates");
    expect(second.left).toContain(`waits for process ${held.pid}`);
    // A release that is rolled back meanwhile does not have to wait.
    expect(await run(released)).toMatchObject({ left: undefined });
    await held.letGo();
    expect(await run(and(build))).toMatchObject({ applied: ["step-1"] });
    expect(await valid()).toEqual([true]);
  });
});

describe("in batches", () => {
  const batch = (size: number) => `-- carillon: in batches
    with portion as (select id from carillon.things where id > coalesce($1::text::int, 0) order by id limit ${size}),
      written as (update carillon.things t set note = coalesce(t.note, '') || 'x' from portion p where t.id = p.id)
    select max(id)::text as place from portion`;
  const notes = () =>
    sql`select coalesce(note, '') as note, count(*)::int from carillon.things group by 1 order by 1`;

  test("a migration in batches works until the time of its run is over, the next run continues there, and each row is changed once", async () => {
    expect(await run(and(batch(40)), { runMs: 0 })).toMatchObject({
      left: expect.stringContaining("reached 40"),
    });
    expect(await notes()).toEqual([
      { note: "", count: 60 },
      { note: "x", count: 40 },
    ]);
    expect(await numbers()).toEqual([]);
    expect(await run(and(batch(40)))).toMatchObject({ applied: ["step-1"], left: undefined });
    expect(await notes()).toEqual([{ note: "x", count: 100 }]);
    expect(await sql`select from carillon.unfinished_migrations`).toEqual([]);
  });

  test("a migration's batch that makes no progress is refused instead of repeated for ever", async () => {
    const stuck = "-- carillon: in batches\nselect '1' as place where $1::text is distinct from 'never'";
    await expect(run(and(stuck))).rejects.toThrow("moves on");
  });
});

describe("a release that is rolled back", () => {
  const last = () => released.length;

  test("a release that is rolled back does nothing on a database whose newer migrations are compatible with it", async () => {
    const newer = and(`-- carillon: back to ${last()}\ncreate table carillon.others (n int)`);
    await run(newer);
    expect(await run(released, { mayBeOlder: true })).toEqual({ applied: [], left: undefined, ahead: true });
    await expect(run(released)).rejects.toThrow(NewerDatabase);
  });

  test.each([
    ["names no older release", ""],
    ["is compatible with newer releases only", "-- carillon: back to 9999\n"],
  ])("a release that is rolled back is refused if a migration that it does not know %s", async (_, says) => {
    const fit = `-- carillon: back to ${last()}\ncreate table carillon.others (n int)`;
    await run(and(fit, `${says}create table carillon.more (n int)`));
    await expect(run(released, { mayBeOlder: true })).rejects.toThrow(NewerDatabase);
  });
});

test("an unknown line `-- carillon: …` is refused with its text", () => {
  expect(() => migrationFrom(40, "typo", "-- carillon: out of transaction")).toThrow(
    'has the line "-- carillon: out of transaction"',
  );
});
