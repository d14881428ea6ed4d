import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import type { MigrationEvent } from "../../functions/migrate.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { functionRoles } from "../../lib/db/migrate/iam-logins.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { findToken } from "../../lib/token/token.ts";
import { type PostgresServer, startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { watchPreparedNames } from "../support/prepared-names.ts";
import { runNode } from "../support/run-node.ts";
import { schemaDump } from "../support/schema-dump.ts";
import { serveSecrets } from "../support/secrets-manager.ts";
import { certificates, serveTlsBefore } from "../support/tls-front.ts";

// A separate server: the function creates login roles, and roles belong to a whole server, so other
// tests would see them.
let dataDir: string;
let server: PostgresServer;
let admin: Sql;
/** The test's own database. */
let sql: Sql;
let databaseUrl: string;
beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), "carillon-migrate-"));
  const settings = { fsync: "off", synchronous_commit: "off", shared_buffers: "16MB", autovacuum: "off" };
  server = await startPostgres({ dataDir, settings });
  admin = connect({ DATABASE_URL: server.url }, { max: 1 });
  // RDS has this role from the start.
  await admin`create role rds_iam`;
});
afterAll(async () => {
  await admin.end();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

beforeEach(async () => {
  await admin`create database shop`;
  databaseUrl = Object.assign(new URL(server.url), { pathname: "/shop" }).href;
  sql = connect({ DATABASE_URL: databaseUrl }, { max: 2 });
});
/** Resets the server: no database, and none of the roles that a migration makes. */
afterEach(async () => {
  await sql.end();
  await admin`drop database shop with (force)`;
  const made = await admin<{ role: string }[]>`
    select rolname as role from pg_roles where rolname like 'carillon%'`;
  for (const { role } of made) await admin`drop role ${admin(role)}`;
});

const begunAnswer = z.object({
  PhysicalResourceId: z.string(),
  Data: z.object({ begunAt: z.string(), state: z.enum(["done", "unfinished"]) }),
});
const secretArn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:";
const create = (adminTokenSecret: string): MigrationEvent => ({
  RequestType: "Create",
  ResourceProperties: { adminTokenSecret: secretArn + adminTokenSecret },
});
const update = (from: string, to: string): MigrationEvent => ({
  RequestType: "Update",
  ResourceProperties: { adminTokenSecret: secretArn + to },
  OldResourceProperties: { adminTokenSecret: secretArn + from },
});

/** Runs the function as Lambda does: in its own process, with a Secrets Manager and TLS. */
async function invoke(
  event: MigrationEvent,
  secrets: Record<string, string> = {},
  {
    ms = 60_000,
    directory,
    through = databaseUrl,
  }: { ms?: number; directory?: string; through?: string } = {},
): Promise<unknown> {
  const { username, password } = new URL(databaseUrl);
  const master = JSON.stringify({ username, password: decodeURIComponent(password) || "none" });
  const module = `
    const { handler } = await import("./functions/migrate.ts");
    const result = await handler(JSON.parse(process.env.EVENT), { awsRequestId: "1", getRemainingTimeInMillis: () => ${ms} });
    console.log(JSON.stringify(result));`;
  const held = Object.entries({ master, ...secrets }).map(
    ([name, text]) => [secretArn + name, text] as const,
  );
  const { url } = await serveSecrets(Object.fromEntries(held));
  const out = await runNode(module, {
    EVENT: JSON.stringify(event),
    ...(directory === undefined ? {} : { MIGRATIONS_DIRECTORY: directory }),
    DATABASE_HOST: "localhost",
    DATABASE_PORT: String(await serveTlsBefore("localhost", through)),
    DATABASE_NAME: "shop",
    DATABASE_SECRET_ARN: `${secretArn}master`,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "not-a-secret",
    NODE_EXTRA_CA_CERTS: fileURLToPath(new URL("authority.pem", certificates)),
  });
  // The function's log comes before its answer.
  return JSON.parse(out.split("\n").at(-1) ?? "");
}

test("The migration of a new stack makes its tables, its functions' logins and its first admin token", async () => {
  const result = await invoke(create("first"), { first: "the-first-token" });
  expect(result).toMatchObject({ PhysicalResourceId: "carillon-migration" });
  expect(await findToken(sql, "the-first-token")).toMatchObject({ scope: "admin" });
  const roles = await sql`
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
  const watched = await watchPreparedNames(databaseUrl);
  await invoke(create("first"), { first: "the-first-token" }, { through: watched.url });
  expect([watched.names(), watched.prepared() > 0]).toEqual([[], true]);
});

test("The server closes a function's session that idles for a minute, such as that of a frozen environment", async () => {
  await invoke(create("first"), { first: "the-first-token" });
  const settings = await sql<{ role: string; kept: string[] }[]>`
    select setrole::regrole::text as role, setconfig as kept
    from pg_db_role_setting join pg_database on setdatabase = pg_database.oid
    where datname = current_database() and setrole::regrole::text = any(${[...functionRoles]})`;
  expect(settings).toHaveLength(functionRoles.length);
  for (const { kept } of settings) expect(kept).toContain("idle_session_timeout=60s");
});

test("The migration of a release older than the database is refused and changes nothing", async () => {
  await invoke(create("first"), { first: "the-first-token" });
  await sql`insert into carillon.migrations (number, name) select max(number) + 1, 'of-a-newer-release' from carillon.migrations`;
  await sql`alter role carillon_tick nologin`;
  const before = await schemaDump(sql);
  await expect(invoke(update("first", "second"), { second: "the-second-token" })).rejects.toThrow(
    "Nothing was changed.",
  );
  expect(await schemaDump(sql)).toBe(before);
  expect(await findToken(sql, "the-second-token")).toBeNull();
  const [tick] = await sql`select rolcanlogin from pg_roles where rolname = 'carillon_tick'`;
  expect(tick).toEqual({ rolcanlogin: false });
});

test("A second run of the migration changes nothing and brings back no deleted token", async () => {
  await invoke(create("first"), { first: "the-first-token" });
  await sql`delete from carillon.tokens`;
  const again = await invoke(update("first", "first"), { first: "the-first-token" });
  expect(again).toMatchObject({ PhysicalResourceId: "carillon-migration", Data: { state: "done" } });
  expect(await findToken(sql, "the-first-token")).toBeNull();
});

test("The migration makes a new token for a new secret and leaves the other tokens alone", async () => {
  await invoke(create("first"), { first: "the-first-token" });
  await invoke(update("first", "second"), { second: "the-second-token" });
  expect(await findToken(sql, "the-first-token")).not.toBeNull();
  expect(await findToken(sql, "the-second-token")).not.toBeNull();
});

test("A deployment that cannot read its token's secret fails, and the next one makes the token", async () => {
  await expect(invoke(create("first"))).rejects.toThrow("ResourceNotFoundException");
  await invoke(create("first"), { first: "the-first-token" });
  expect(await findToken(sql, "the-first-token")).not.toBeNull();
});

test("The migration gives another database its first token, unless that database has been used", async () => {
  const secrets = { first: "the-first-token" };
  const moved: MigrationEvent = {
    RequestType: "Update",
    ResourceProperties: { adminTokenSecret: `${secretArn}first`, database: "there:5432/carillon" },
    OldResourceProperties: { adminTokenSecret: `${secretArn}first`, database: "here:5432/carillon" },
  };
  await invoke(moved, secrets);
  expect(await findToken(sql, "the-first-token")).toMatchObject({ scope: "admin" });
  // A database from a backup in which the first token had been deleted.
  await sql`insert into carillon.audit (at, actor, action, subject) values (now(), 'somebody', 'token.deleted', 'first')`;
  await sql`delete from carillon.tokens`;
  await invoke(moved, secrets);
  expect(await findToken(sql, "the-first-token")).toBeNull();
});

test("The migration refuses a database of the test kit, whose clock stands still", async () => {
  await invoke(create("first"), { first: "the-first-token" });
  await databaseClock(sql, "2027-03-28T00:00:00Z");
  await expect(invoke(update("first", "first"))).rejects.toThrow("made by the test kit");
});

test("Deleting the migration's resource from the stack changes nothing in the database", async () => {
  await invoke(create("first"), { first: "the-first-token" });
  await invoke({ RequestType: "Delete" });
  expect(await findToken(sql, "the-first-token")).not.toBeNull();
});

test("The migration refuses an event that does not come from CloudFormation", async () => {
  const odd = { RequestType: "Destroy" } as unknown as MigrationEvent;
  await expect(invoke(odd)).rejects.toThrow("RequestType");
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
    await invoke(create("first"), { first: "the-first-token" });
  });
  afterEach(() => rm(newer, { recursive: true }));

  test("A migration that needs many calls continues with each call, and is given up after 55 minutes", async () => {
    await sql.unsafe("create table carillon.things (id int primary key, marked boolean)");
    await sql.unsafe("insert into carillon.things select n from generate_series(1, 100) n");
    await next(`-- carillon: in batches
      with portion as (select id from carillon.things where id > coalesce($1::text::int, 0) order by id limit 34),
        written as (update carillon.things t set marked = true from portion p where t.id = p.id)
      select max(id)::text as place from portion`);
    // The time is over from the start, so each call does one portion, however fast the machine is.
    const little = { ms: 0, directory: newer };
    const marked = async () =>
      (await sql<{ count: number }[]>`select count(*)::int from carillon.things where marked`)[0]?.count;

    const event = update("first", "first");
    const begun = begunAnswer.parse(await invoke(event, {}, little));
    expect(begun.Data.state).toBe("unfinished");
    expect(await marked()).toBe(34);
    // With the first call's answer, as the CDK's provider passes it on.
    const again = { ...event, ...begun };
    expect(await invoke(again, {}, little)).toEqual({ IsComplete: false });
    expect(await marked()).toBe(68);
    const begunAt = new Date(Date.now() - 56 * 60_000).toISOString();
    const late = { ...event, Data: { ...begun.Data, begunAt } };
    // Even if the call itself has time left: CloudFormation no longer waits for its answer.
    await expect(invoke(late, {}, { directory: newer })).rejects.toThrow(
      /After 55 minutes .* is still to be applied/,
    );
    expect(await marked()).toBe(68);
    expect(await invoke(again, {}, little)).toEqual({ IsComplete: false });
    expect(await invoke(again, {}, little)).toEqual({ IsComplete: true });
    const [applied] = await sql`select name from carillon.migrations where number = ${number}`;
    expect(applied).toEqual({ name: "later" });
  });

  test("After a failed release, the former release accepts the newer database and does not change it", async () => {
    await next(`-- carillon: back to ${number - 1}\ncreate table carillon.later (n int);`);
    const forth = { first: "the-first-token", second: "the-second-token" };
    expect(await invoke(update("first", "second"), forth, { directory: newer })).toMatchObject({
      Data: { state: "done" },
    });
    await sql`delete from carillon.tokens`;
    const before = await schemaDump(sql);
    await sql`alter role carillon_tick nologin`;
    // The former code runs, and the event's old and new properties are swapped.
    const back = begunAnswer.parse(await invoke(update("second", "first"), forth));
    expect(back.Data.state).toBe("done");
    expect(await invoke({ ...update("second", "first"), ...back }, forth)).toEqual({ IsComplete: true });
    expect(await schemaDump(sql)).toBe(before);
    expect(await sql`select from carillon.tokens`).toEqual([]);
    // The functions log in as the former release's properties say, which may differ from the newer
    // one's.
    const [tick] = await sql`select rolcanlogin from pg_roles where rolname = 'carillon_tick'`;
    expect(tick).toEqual({ rolcanlogin: true });
    // The repaired newer release finds its migration applied.
    expect(await invoke(update("first", "second"), forth, { directory: newer })).toMatchObject({
      Data: { state: "done" },
    });
  });

  test("A new stack of an older release refuses the database of a later one, even a compatible one", async () => {
    await next(`-- carillon: back to ${number - 1}\ncreate table carillon.later (n int);`);
    await invoke(update("first", "first"), {}, { directory: newer });
    await expect(invoke(create("first"), { first: "the-first-token" })).rejects.toThrow(
      "Nothing was changed.",
    );
  });
});
