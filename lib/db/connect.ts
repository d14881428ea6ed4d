import { Signer } from "@aws-sdk/rds-signer";
import { type Environment, required } from "../config/environment.ts";
import type { Log } from "../log/log.ts";
import { openAdmittedLine, type Passwords } from "./admitted-line.ts";
import { type Line, type Login, openLine } from "./line.ts";
import { ownTimeMax } from "./own-time.ts";
import { makePool } from "./pool.ts";
import type { Server } from "./socket.ts";
import { makeSql, type Sql } from "./sql.ts";

export type { Sql } from "./sql.ts";

export interface ConnectOptions {
  /**
   * The largest number of connections. The default is 1: a Lambda environment serves one event at a
   * time.
   */
  max?: number;
  /** The application name in `pg_stat_activity`; "carillon" by default. */
  applicationName?: string;
  /**
   * False: each statement is planned for its own values. For bulk work, whose best plan differs
   * each time.
   */
  keepsPlans?: boolean;
  /** Receives a warning for each transaction that waited too long for work of this program. */
  log?: Log;
  /**
   * Limit in milliseconds of each of the two steps of connecting: until the server accepts the
   * connection, and until it accepts the login.
   */
  connectMs?: number;
  /**
   * A connection is given up when its server is silent for this long while a statement waits.
   * Longer than the statement timeout of the role. Leave it out where statements may take any time.
   */
  answerMs?: number;
  /**
   * A transaction is given up after this long: its connection is cut, and the server rolls back.
   * Longer than the statement timeout of the role. Default: no limit.
   */
  transactionMs?: number;
  /** A connection that idles for this many milliseconds is closed; 30,000 by default. */
  idleMs?: number;
  /**
   * Comes between the pool and each connection: every statement passes it, one at a time, `begin`
   * and `commit` included. For tests, which count statements, hold them back or cut connections.
   */
  through?: (line: Line, onLost: () => void) => Line;
}

interface Account extends Server {
  database: string;
  user: string;
  /** One valid password, or candidates of which one is valid. */
  password: Login["password"] | Passwords;
}

// Shorter than the time after which firewalls between a function and its database drop a
// connection, and longer than the pauses within a tick or a batch.
const IDLE_MS = 30_000;

/**
 * Connects, at the first statement, to the database that the environment names.
 *
 * The names are `DATABASE_URL`, or `DATABASE_HOST`, `_PORT`, `_NAME` and `_USER` with
 * `DATABASE_AUTH`: `iam`, or `secret` where `DATABASE_SECRET_ARN` holds the password of the user.
 *
 * The only session state of a connection is its prepared statements, and with
 * `DATABASE_PREPARE=off` there are none: RDS Proxy then has nothing to pin, and a transaction
 * pooler nothing to lose. `bigint` and `numeric` are read as text, since they do not fit a number;
 * instants are read as `Date`. Names and keys are never rewritten.
 */
export function connect(env: Environment, options: ConnectOptions = {}): Sql {
  const prepare = env["DATABASE_PREPARE"] ?? "on";
  if (prepare !== "on" && prepare !== "off")
    throw new Error(`DATABASE_PREPARE is "${prepare}"; it takes "on" or "off".`);
  return connectAs(accountFrom(env), prepare === "on" ? options : { ...options, keepsPlans: false });
}

export function connectAs({ password, ...account }: Account, options: ConnectOptions = {}): Sql {
  const { applicationName = "carillon", keepsPlans = true, connectMs = 3_000, answerMs = null } = options;
  const login = { ...account, applicationName, keepsPlans, connectMs, answerMs };
  const { through = (line) => line } = options;
  const open = (onLost: () => void) =>
    through(
      typeof password === "function"
        ? openLine({ ...login, password }, onLost)
        : openAdmittedLine(login, password, onLost),
      onLost,
    );
  const { log } = options;
  const watch = log && {
    now: () => performance.now(),
    onLong: (ms: number) => log.warn("database.held", { ms, most: ownTimeMax }),
  };
  const pool = makePool(open, { max: options.max ?? 1, idleMs: options.idleMs ?? IDLE_MS });
  return makeSql(pool, { watch, transactionMs: options.transactionMs });
}

function accountFrom(env: Environment): Account {
  const url = env["DATABASE_URL"];
  if (url !== undefined && url !== "") return accountFromUrl(url);

  const named = namedDatabase(env);
  const user = required(env, "DATABASE_USER");
  const auth = required(env, "DATABASE_AUTH", AUTH_TAKES);
  if (auth === "secret") return { ...named, user, password: lazySecret(env) };
  if (auth !== "iam") throw new Error(`DATABASE_AUTH is "${auth}"; ${AUTH_TAKES}.`);
  if (!named.tls)
    throw new Error("DATABASE_TLS is off; the tokens of DATABASE_AUTH=iam are sent inside TLS alone.");
  const { host: hostname, port } = named;
  const signer = new Signer({ hostname, port, username: user, region: required(env, "AWS_REGION") });
  return { ...named, user, password: () => signer.getAuthToken() };
}

const AUTH_TAKES = 'it takes "iam" or "secret"';

/**
 * The address of the database, and how its certificate is verified: against `DATABASE_CA`, one
 * certificate as PEM, or by default against the certificates that Node trusts.
 */
export function namedDatabase(env: Environment): Server & { database: string } {
  const host = required(env, "DATABASE_HOST", "name the database by DATABASE_URL or by DATABASE_HOST");
  const port = Number(required(env, "DATABASE_PORT"));
  const database = required(env, "DATABASE_NAME");
  const tls = env["DATABASE_TLS"] ?? "verify";
  if (tls !== "verify" && tls !== "off")
    throw new Error(`DATABASE_TLS is "${tls}"; it takes "verify" or "off".`);
  const ca = env["DATABASE_CA"];
  return { host, port, database, tls: tls === "verify", ...(ca === undefined || ca === "" ? {} : { ca }) };
}

/**
 * Loads the Secrets Manager client only when it is used: most functions log in by IAM and start
 * without it.
 */
function lazySecret(env: Environment): Passwords {
  let secret: Passwords | undefined;
  return {
    candidates: async function* () {
      secret ??= (await import("./role-secret.ts")).roleSecret(env);
      yield* secret.candidates();
    },
    keep: (password) => secret?.keep(password),
  };
}

/**
 * Reads `postgres://user:password@host:port/database?sslmode=…`. Without sslmode the connection is
 * not encrypted; with `verify-full` (or `require`) it is encrypted and the certificate is verified.
 * `?host=/folder` names the folder of a local socket, as in libpq.
 */
function accountFromUrl(text: string): Account {
  if (!URL.canParse(text)) throw new Error("DATABASE_URL is not a URL.");
  const url = new URL(text);
  if (url.protocol !== "postgres:" && url.protocol !== "postgresql:") {
    throw new Error(`DATABASE_URL starts with "${url.protocol}"; it takes "postgres://" or "postgresql://".`);
  }
  const password = decodeURIComponent(url.password);
  const host = url.searchParams.get("host") ?? decodeURIComponent(url.hostname);
  return {
    host: host.replace(/^\[(.*)\]$/, "$1"),
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

export type { TransactionMode, Tx } from "./transaction.ts";
