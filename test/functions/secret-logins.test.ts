import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { assemble as assembleTick } from "../../functions/tick.ts";
import type { Assembled } from "../../lib/config/function.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type FunctionRole, functionRoles, grantIamLogins } from "../../lib/db/migrate/iam-logins.ts";
import { setPasswordLogins } from "../../lib/db/migrate/password-logins.ts";
import { type PostgresServer, startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { runNode } from "../support/run-node.ts";
import { type SecretsManager, type SecretVersions, serveSecrets } from "../support/secrets-manager.ts";
import { certificates, connections, serveTlsBefore } from "../support/tls-front.ts";
import { until } from "../support/until.ts";

// A separate server, because roles and passwords belong to a whole server, and this one requires
// passwords.
let dataDir: string;
let server: PostgresServer;
let admin: Sql;
let databaseUrl: string;

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), "carillon-logins-"));
  server = await startPostgres({
    dataDir,
    settings: { fsync: "off", shared_buffers: "16MB", log_statement: "all" },
  });
  admin = connect({ DATABASE_URL: server.url });
  await admin`create role shop_owner login createrole password 'master-password'`;
  await admin`create database shop owner shop_owner`;
  const url = new URL(server.url);
  url.pathname = "/shop";
  databaseUrl = url.href;
});
afterAll(async () => {
  await admin.end();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const arnOf = (name: string) => `arn:aws:secretsmanager:eu-central-1:123456789012:secret:${name}-AbCdEf`;
const login = (password: string) => JSON.stringify({ username: "carillon_tick", password });

interface World {
  secrets: Record<string, SecretVersions>;
  manager: SecretsManager;
  /** The environment of every function of the stack. */
  told: Record<string, string>;
}

/** An external server behind TLS, and secrets as the stack makes them. */
async function world(): Promise<World> {
  const secrets: Record<string, SecretVersions> = {
    [arnOf("master")]: JSON.stringify({ username: "shop_owner", password: "master-password" }),
    [arnOf("admin-token")]: "the-first-token-of-this-stack",
    ...Object.fromEntries(functionRoles.map((role) => [arnOf(role), login(randomBytes(24).toString("hex"))])),
  };
  const manager = await serveSecrets(secrets);
  const told = {
    DATABASE_HOST: "localhost",
    DATABASE_PORT: String(await serveTlsBefore("localhost", databaseUrl)),
    DATABASE_NAME: "shop",
    DATABASE_AUTH: "secret",
    DATABASE_CA: await readFile(new URL("authority.pem", certificates), "utf8"),
    AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.url,
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "not-a-secret",
  };
  return { secrets, manager, told };
}

/** Runs the migration as Lambda does, in its own process. */
async function migrate({ told }: World): Promise<void> {
  const ResourceProperties = { adminTokenSecret: arnOf("admin-token") };
  const event = { RequestType: "Update", ResourceProperties, OldResourceProperties: ResourceProperties };
  const module = `
    const { handler } = await import("./functions/migrate.ts");
    await handler(JSON.parse(process.env.EVENT), { awsRequestId: "1", getRemainingTimeInMillis: () => 60_000 });`;
  await runNode(module, {
    ...told,
    EVENT: JSON.stringify(event),
    DATABASE_SECRET_ARN: arnOf("master"),
    DATABASE_ROLE_SECRET_ARNS: JSON.stringify(
      Object.fromEntries(functionRoles.map((role) => [role, arnOf(role)])),
    ),
  });
}

function tickOf({ told }: World): () => Promise<boolean> {
  const assembled: Assembled<never, { finished: boolean }> = assembleTick({
    ...told,
    DATABASE_USER: "carillon_tick",
    DATABASE_SECRET_ARN: arnOf("carillon_tick"),
    FAST_QUEUE_URL: "http://127.0.0.1:1/fast",
    SLOW_QUEUE_URL: "http://127.0.0.1:1/slow",
    CARILLON_LOG: "silent",
    LIFECYCLE_EVENTS: "none",
  });
  onTestFinished(() => assembled.close());
  const invocation = { awsRequestId: "1", getRemainingTimeInMillis: () => 50_000 };
  return async () => (await assembled.handler({} as never, invocation)).finished;
}

function rotate({ secrets }: World, role: FunctionRole, password: string): void {
  const before = secrets[arnOf(role)];
  const AWSPREVIOUS = typeof before === "object" ? before.AWSCURRENT : before;
  secrets[arnOf(role)] = {
    AWSCURRENT: login(password),
    ...(AWSPREVIOUS === undefined ? {} : { AWSPREVIOUS }),
  };
}

/** Ends all sessions, so that each client must connect again, as a function does after a pause. */
async function endSessions({ told }: World): Promise<void> {
  await admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename like 'carillon%'`;
  await until("every session has ended", async () => connections(Number(told["DATABASE_PORT"])) === 0);
}

test("Each function logs in with its own secret, read once, over TLS with the configured certificate", async () => {
  const at = await world();
  await migrate(at);
  const tick = tickOf(at);
  at.manager.reads.length = 0;
  expect(await tick()).toBe(true);
  await endSessions(at);
  expect(await tick()).toBe(true);
  expect(new Set(at.manager.reads)).toEqual(new Set([arnOf("carillon_tick")]));
  const readsOfFirstTick = at.manager.reads.length;
  await endSessions(at);
  await tick();
  expect(at.manager.reads).toHaveLength(readsOfFirstTick);
});

test("The migration sends no password to the server, so the server's log of statements has none", async () => {
  const log = await readFile(path.join(dataDir, "server.log"), "utf8");
  expect(log).toContain("alter role carillon_tick password");
  expect(log).not.toMatch(/alter role \w+ password '(?!SCRAM-SHA-256\$4096:)/);
});

test("A password change interrupts no function, before and after the server knows it", async () => {
  const at = await world();
  await migrate(at);
  const warm = tickOf(at);
  expect(await warm()).toBe(true);

  rotate(at, "carillon_tick", "the-new-password");
  await endSessions(at);
  expect(await warm()).toBe(true);
  expect(await tickOf(at)()).toBe(true);

  await migrate(at);
  await endSessions(at);
  expect(await warm()).toBe(true);
  expect(await tickOf(at)()).toBe(true);
});

test("A wrong, missing or unreadable secret fails the statement without appearing in the error, and the next statement reads it again", async () => {
  const at = await world();
  await migrate(at);
  const arn = arnOf("carillon_tick");
  const right = at.secrets[arn] ?? "";
  const sql = connect({ ...at.told, DATABASE_USER: "carillon_tick", DATABASE_SECRET_ARN: arn });
  onTestFinished(() => sql.end());
  const refusal = async (): Promise<unknown> => {
    const error: unknown = await sql`select 1`.catch((reason: unknown) => reason);
    expect(inspect(error, { depth: null })).not.toContain("wrong-");
    return error;
  };

  at.secrets[arn] = { AWSCURRENT: login("wrong-now"), AWSPREVIOUS: login("wrong-before") };
  expect(await refusal()).toMatchObject({ code: "28P01" });
  at.secrets[arn] = '{"password":"wrong-as-it-was-cut';
  expect(await refusal()).toMatchObject({
    name: "ConnectionLost",
    cause: { message: expect.stringContaining("no JSON object") },
  });
  delete at.secrets[arn];
  expect(await refusal()).toMatchObject({ cause: { name: "ResourceNotFoundException" } });
  at.secrets[arn] = right;
  expect(await sql`select current_user::text as me`).toEqual([{ me: "carillon_tick" }]);
});

test("The server closes idle sessions of functions, but not sessions that a proxy shares", async () => {
  await migrate(await world());
  const owner = connect({ DATABASE_URL: databaseUrl });
  onTestFinished(() => owner.end());
  await owner`create role rds_iam`;
  const closing = async () => {
    const [kept] = await owner<{ roles: number }[]>`
      select count(*)::int as roles from pg_db_role_setting
      where setdatabase = (select oid from pg_database where datname = 'shop') and 'idle_session_timeout=60s' = any(setconfig)`;
    return kept?.roles;
  };
  await owner.begin((tx) => grantIamLogins(tx, "closed"));
  expect(await closing()).toBe(functionRoles.length);
  await owner.begin((tx) => grantIamLogins(tx, "kept"));
  expect(await closing()).toBe(0);
  await admin`drop role rds_iam`;
});

test("Roles that logged in by IAM lose that grant, because RDS would otherwise refuse their password; a foreign grant stops the deployment", async () => {
  const at = await world();
  const url = new URL(databaseUrl);
  Object.assign(url, { username: "shop_owner", password: "master-password" });
  const owner = connect({ DATABASE_URL: url.href });
  onTestFinished(() => owner.end());
  const members = () =>
    admin`select from pg_auth_members m join pg_roles r on r.oid = m.roleid
      where r.rolname = 'rds_iam' and m.member::regrole::text like 'carillon%'`;
  await migrate(at);
  await owner`create role rds_iam`;
  onTestFinished(() => admin`drop role rds_iam`.then(() => {}));
  await owner.begin((tx) => grantIamLogins(tx, "closed"));
  expect(await members()).toHaveLength(functionRoles.length);
  await migrate(at);
  expect(await members()).toHaveLength(0);
  await admin`grant rds_iam to carillon_api`;
  await expect(migrate(at)).rejects.toThrow("carillon_api is a member of rds_iam");
});

test("Two deployments that create logins at the same time do not fail each other", async () => {
  await migrate(await world());
  const owner = connect({ DATABASE_URL: databaseUrl }, { max: 4 });
  onTestFinished(() => owner.end());
  const logins = functionRoles.map((role) => ({ role, password: "one" }));
  const both = Array.from({ length: 4 }, () => owner.begin((tx) => setPasswordLogins(tx, logins)));
  expect(await Promise.all(both)).toHaveLength(4);
});

test("A secret of the owner that is not JSON fails the deployment without appearing in the error", async () => {
  const at = await world();
  at.secrets[arnOf("master")] = "a-plain-password";
  const failure: unknown = await migrate(at).catch((error: unknown) => error);
  expect(String(failure)).toContain("it takes a JSON object with the two");
  expect(inspect(failure, { depth: null })).not.toContain("plain");
});
