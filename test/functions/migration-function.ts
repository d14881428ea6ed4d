import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import type { MigrationEvent } from "../../functions/migrate.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { type PostgresServer, startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { runNode } from "../support/run-node.ts";
import { serveSecrets } from "../support/secrets-manager.ts";
import { certificates, serveTlsBefore } from "../support/tls-front.ts";

const secretArn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:";

/** The event of a new stack, whose first token is in the secret with this name. */
export const create = (adminTokenSecret: string): MigrationEvent => ({
  RequestType: "Create",
  ResourceProperties: { adminTokenSecret: secretArn + adminTokenSecret },
});

/** The event of a deployment; a stack's database changes only if both names of it are given. */
export const update = (
  from: string,
  to: string,
  database?: { from: string; to: string; mayBeEmpty?: "true" },
): MigrationEvent => ({
  RequestType: "Update",
  ResourceProperties: {
    adminTokenSecret: secretArn + to,
    ...(database === undefined ? {} : { database: database.to }),
    ...(database?.mayBeEmpty === undefined ? {} : { mayBeEmpty: database.mayBeEmpty }),
  },
  OldResourceProperties: {
    adminTokenSecret: secretArn + from,
    ...(database === undefined ? {} : { database: database.from }),
  },
});

interface Call {
  ms?: number;
  /** The folder of the migrations; by default the release's own. */
  directory?: string;
  /** The database's URL behind the TLS that the function insists on. */
  through?: string;
  /** The settings of the function that sends webhooks. */
  sender?: Environment;
}

export interface MigrationFunction {
  /** The test's own database. */
  readonly sql: Sql;
  readonly databaseUrl: string;
  /** Runs the function as Lambda does: in its own process, with a Secrets Manager and TLS. */
  invoke(event: MigrationEvent, secrets?: Record<string, string>, call?: Call): Promise<unknown>;
}

/**
 * The migration's function and a server of its own: the function creates login roles, and roles
 * belong to a whole server, so other tests would see them.
 */
export function migrationFunction(): MigrationFunction {
  let dataDir: string;
  let server: PostgresServer;
  let admin: Sql;
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
  // Resets the server: no database, and none of the roles that a migration makes.
  afterEach(async () => {
    await sql.end();
    await admin`drop database shop with (force)`;
    const made = await admin<{ role: string }[]>`
      select rolname as role from pg_roles where rolname like 'carillon%'`;
    for (const { role } of made) await admin`drop role ${admin(role)}`;
  });
  return {
    get sql() {
      return sql;
    },
    get databaseUrl() {
      return databaseUrl;
    },
    invoke: (event, secrets = {}, call = {}) => invoke(databaseUrl, event, secrets, call),
  };
}

async function invoke(
  databaseUrl: string,
  event: MigrationEvent,
  secrets: Record<string, string>,
  { ms = 60_000, directory, through = databaseUrl, sender = {} }: Call,
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
    ...sender,
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
