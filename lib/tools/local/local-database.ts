import { randomBytes } from "node:crypto";
import path from "node:path";
import type { PrefixWeight } from "../../config/prefix-weights.ts";
import type { QuotaLimit } from "../../config/quota-setting.ts";
import { connect, type Sql } from "../../db/connect.ts";
import { migrate } from "../../db/migrate/migrate.ts";
import { readMigrations } from "../../db/migrate/migration.ts";
import type { Log } from "../../log/log.ts";
import { defineQuotas } from "../../quota/define-quotas.ts";
import { defineWeights } from "../../quota/define-weights.ts";
import { ensureSealingKey } from "../../sealing/first-key.ts";
import type { KeyVault } from "../../sealing/key-vault.ts";
import { ensureAdminToken } from "../../token/token.ts";
import { packageRoot } from "./package-root.ts";

/** Each function's URL of the database, with the role that has exactly its rights. */
export interface DatabaseUrls {
  tick: string;
  worker: string;
  /** For the worker that runs handlers. */
  handler: string;
  /** For the function that drains the queue of commands. */
  ingest: string;
  api: string;
}

/** The secrets of the data directory that a start needs. */
export interface FirstSecrets {
  /** The admin token. */
  token: string;
  vault: KeyVault;
}

/** The rows that a start writes. */
export interface FirstRows extends FirstSecrets {
  quotas: readonly QuotaLimit[];
  prefixWeights: readonly PrefixWeight[];
}

const databaseName = "carillon";

/**
 * The database on the embedded server, created at the first start, and a login for each function's
 * role.
 */
export async function prepareEmbedded(serverUrl: string, rows: FirstRows, log: Log): Promise<DatabaseUrls> {
  await withConnection(serverUrl, async (sql) => {
    const [existing] = await sql`select from pg_database where datname = ${databaseName}`;
    if (existing === undefined) await sql`create database ${sql(databaseName)}`;
  });
  const url = new URL(serverUrl);
  url.pathname = `/${databaseName}`;
  await prepare(url.href, rows, log);
  return withConnection(url.href, async (sql) => ({
    tick: await login(sql, url, "carillon_tick"),
    worker: await login(sql, url, "carillon_worker"),
    handler: await login(sql, url, "carillon_handler"),
    ingest: await login(sql, url, "carillon_ingest"),
    api: await login(sql, url, "carillon_api"),
  }));
}

/** A user-supplied database: there is only one login, so every function uses it. */
export async function prepareGiven(url: string, rows: FirstRows, log: Log): Promise<DatabaseUrls> {
  await prepare(url, rows, log);
  return { tick: url, worker: url, handler: url, ingest: url, api: url };
}

async function prepare(
  url: string,
  { token, vault, quotas, prefixWeights }: FirstRows,
  log: Log,
): Promise<void> {
  await withConnection(url, async (sql) => {
    await migrate(sql, await readMigrations(path.join(packageRoot, "migrations")), log);
    await ensureAdminToken(sql, token);
    if ((await ensureSealingKey(sql, vault, "carillon")) === "made again") log.warn("credentials.lost");
    await defineQuotas(sql, quotas);
    await defineWeights(sql, prefixWeights);
  });
}

/** The password is valid until the next process sets its own. */
async function login(sql: Sql, database: URL, role: string): Promise<string> {
  const password = randomBytes(24).toString("base64url");
  const [statement] = await sql<{ text: string }[]>`
    select format('alter role %I login password %L', ${role}::text, ${password}::text) as text`;
  await sql.unsafe(statement?.text ?? "");
  const url = new URL(database);
  url.username = role;
  url.password = password;
  return url.href;
}

async function withConnection<Result>(url: string, act: (sql: Sql) => Promise<Result>): Promise<Result> {
  const options = { max: 2, applicationName: "carillon-start", keepsPlans: false };
  const sql = connect({ DATABASE_URL: url }, options);
  try {
    return await act(sql);
  } finally {
    await sql.end();
  }
}
