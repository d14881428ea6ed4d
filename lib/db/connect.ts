import { Signer } from "@aws-sdk/rds-signer";
import { type Environment, required } from "../config/environment.ts";
import { type Login, openLine } from "./line.ts";
import { makePool } from "./pool.ts";
import { makeSql, type Sql } from "./sql.ts";

export type { Sql, TransactionMode, Tx } from "./sql.ts";

export interface ConnectOptions {
  /** How many connections at most; 1 by default, as a Lambda environment serves one event at a time. */
  max?: number;
  /** What `pg_stat_activity` shows of these connections; "carillon" by default. */
  applicationName?: string;
}

type Account = Omit<Login, "applicationName">;

// Shorter than what firewalls between a function and its database forget after, and longer than the pauses within a tick or a batch.
const IDLE_MS = 30_000;

/**
 * Connects, at the first statement, to the database that the environment names: `DATABASE_URL`, or `DATABASE_HOST`, `_PORT`, `_NAME` and `_USER`
 * with `DATABASE_AUTH=iam`. No session state is kept on a connection and no statement is prepared by name, so RDS Proxy has nothing to pin.
 * `bigint` and `numeric` are read as text, since they do not fit a number; instants as `Date`; no name and no key is rewritten.
 */
export function connect(env: Environment, options: ConnectOptions = {}): Sql {
  return connectAs(accountFrom(env), options);
}

export function connectAs(account: Account, options: ConnectOptions = {}): Sql {
  const login: Login = { ...account, applicationName: options.applicationName ?? "carillon" };
  const pool = makePool((onLost) => openLine(login, onLost), { max: options.max ?? 1, idleMs: IDLE_MS });
  return makeSql(pool);
}

function accountFrom(env: Environment): Account {
  const url = env["DATABASE_URL"];
  if (url !== undefined && url !== "") return accountFromUrl(url);

  const host = required(env, "DATABASE_HOST", "name the database by DATABASE_URL or by DATABASE_HOST");
  const port = Number(required(env, "DATABASE_PORT"));
  const user = required(env, "DATABASE_USER");
  const auth = required(env, "DATABASE_AUTH", 'it takes "iam"');
  if (auth !== "iam") throw new Error(`DATABASE_AUTH is "${auth}"; it takes "iam".`);
  const signer = new Signer({
    hostname: host,
    port,
    username: user,
    region: required(env, "AWS_REGION"),
  });
  const database = required(env, "DATABASE_NAME");
  return { host, port, database, user, tls: true, password: () => signer.getAuthToken() };
}

/** `postgres://user:password@host:port/database?sslmode=…`: without sslmode in the clear, with `verify-full` (or `require`) encrypted and verified. */
function accountFromUrl(text: string): Account {
  if (!URL.canParse(text)) throw new Error("DATABASE_URL is not a URL.");
  const url = new URL(text);
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") {
    throw new Error(`DATABASE_URL starts with "${url.protocol}"; it takes "postgres://" or "postgresql://".`);
  }
  const password = decodeURIComponent(url.password);
  return {
    host: decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 5432 : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)) || "postgres",
    user: decodeURIComponent(url.username) || "postgres",
    password: () => password,
    tls: wantsTls(url.searchParams.get("sslmode") ?? "disable"),
  };
}

function wantsTls(sslmode: string): boolean {
  if (sslmode === "disable") return false;
  if (["require", "verify-ca", "verify-full"].includes(sslmode)) return true;
  throw new Error(`sslmode in DATABASE_URL is "${sslmode}"; it takes "disable" or "verify-full".`);
}
