import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { connect, type Sql } from "../../../db/connect.ts";
import { migrate } from "../../../db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../../db/migrate/migration.ts";
import { silentLog } from "../../../log/log.ts";
import { recordRuntime } from "../../../tick/housekeeping/replan-zones.ts";
import { tickDefaults } from "../../../tick/tick.ts";
import { DataDirInUse, openDataDir } from "../../local/data-dir.ts";
import { startPostgres } from "../../local/postgres/start-postgres.ts";
import { databaseClock } from "../virtual-clock.ts";
import { socketOf } from "./kit-folder.ts";

/** The server stops when no test has had a database for this long. */
const idleMs = 60_000;
const template = "carillon_template";
/** Tests' databases: the next start drops those that a killed server has left. */
const prefix = "test_";

const folder = process.argv[2];
if (folder === undefined) throw new Error("Name the folder of the server.");
process.exitCode = await main(folder);

/**
 * Runs a Postgres for all test processes of this machine. Each connection to its socket gets a
 * database of its own, a copy of a migrated template, which is dropped when the connection ends,
 * however its process ended.
 */
async function main(inFolder: string): Promise<number> {
  let dataDir: ReturnType<typeof openDataDir>;
  try {
    dataDir = openDataDir(inFolder);
  } catch (error) {
    // Two tests have started it at once: the other one runs.
    if (error instanceof DataDirInUse) return 0;
    throw error;
  }
  const server = await startPostgres({
    dataDir: dataDir.postgres,
    // The data does not outlive a test, so the server never waits for a disk.
    settings: {
      fsync: "off",
      synchronous_commit: "off",
      full_page_writes: "off",
      shared_buffers: "64MB",
      max_connections: "400",
    },
  });
  const sql = connect(
    { DATABASE_URL: server.socketUrl },
    { max: 4, applicationName: "carillon-test-server" },
  );
  await dropLeftovers(sql);
  await makeTemplate(sql, server.socketUrl);
  await serve(inFolder, (socket) => lend(sql, server.socketUrl, socket));
  await sql.end();
  await server.stop();
  dataDir.release();
  return 0;
}

async function dropLeftovers(sql: Sql): Promise<void> {
  const left = await sql<{ name: string }[]>`
    select datname as name from pg_database where starts_with(datname, ${prefix})`;
  for (const { name } of left) await sql`drop database ${sql(name)} with (force)`;
}

/** Made under another name and renamed, so that a start that is killed leaves no half of it. */
async function makeTemplate(sql: Sql, serverUrl: string): Promise<void> {
  const [made] = await sql`select from pg_database where datname = ${template}`;
  if (made !== undefined) return;
  const draft = `${prefix}template`;
  await sql`create database ${sql(draft)}`;
  const own = connect({ DATABASE_URL: urlOf(serverUrl, draft) });
  await migrate(own, await readMigrations(migrationsDirectory), silentLog);
  await databaseClock(own, "2027-01-01T00:00:00Z");
  // The first tick of a database records the zone data.
  const { zoneData } = tickDefaults;
  if (zoneData !== null) await recordRuntime({ sql: own, log: silentLog }, null, zoneData, () => false);
  await own.end();
  await sql`alter database ${sql(draft)} rename to ${sql(template)}`;
}

/** Resolves when nothing has been connected for a while. */
function serve(inFolder: string, lendTo: (socket: Socket) => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const at = socketOf(inFolder);
    rmSync(at, { force: true });
    let connected = 0;
    let timer: NodeJS.Timeout | undefined;
    const rest = () => {
      if (connected === 0) timer = setTimeout(() => listener.close(() => resolve()), idleMs);
    };
    const listener = createServer((socket) => {
      clearTimeout(timer);
      connected += 1;
      void lendTo(socket).finally(() => {
        connected -= 1;
        rest();
      });
    });
    listener.on("error", reject);
    listener.listen(at, rest);
  });
}

async function lend(sql: Sql, serverUrl: string, socket: Socket): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
    socket.on("error", () => socket.destroy());
  });
  const name = `${prefix}${randomBytes(6).toString("hex")}`;
  try {
    await sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`;
    socket.write(`${JSON.stringify({ url: urlOf(serverUrl, name), pid: process.pid })}\n`);
    await closed;
  } catch (error) {
    socket.end(`${JSON.stringify({ error: String(error) })}\n`);
  }
  await sql`drop database if exists ${sql(name)} with (force)`.catch(() => {
    // The next start of the server drops it.
  });
}

function urlOf(serverUrl: string, database: string): string {
  return Object.assign(new URL(serverUrl), { pathname: `/${database}` }).href;
}
