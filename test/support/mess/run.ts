import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { SQSClient } from "@aws-sdk/client-sqs";
import { Carillon } from "../../../lib/client/main.ts";
import { connect, type Sql } from "../../../lib/db/connect.ts";
import { migrate } from "../../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../../lib/db/migrate/migration.ts";
import { textLog } from "../../../lib/log/log.ts";
import { secretVault } from "../../../lib/sealing/key-vault.ts";
import { keptSecret, openDataDir } from "../../../lib/tools/local/data-dir.ts";
import { localRegion } from "../../../lib/tools/local/local-account.ts";
import { type FirstSecrets, prepareEmbedded } from "../../../lib/tools/local/local-database.ts";
import { startPostgres } from "../../../lib/tools/local/postgres/start-postgres.ts";
import { readSettings } from "../../../lib/tools/local/settings.ts";
import { startStack } from "../../../lib/tools/local/stack.ts";
import { type DatabaseClock, databaseClock } from "../../../lib/tools/testing/virtual-clock.ts";
import { seedSchedules } from "../../bench/seed.ts";
import { seedJobs } from "../../bench/seed-jobs.ts";
import { diceOf, seeded } from "../../race/seeded.ts";
import { edit, hold, refuse } from "./faults.ts";
import { holidaysAfter, schedulesOf } from "./schedules.ts";

/**
 * `npm run mess`: a local stack with thousands of schedules in a mess, for an engineer to find their
 * way with the CLI or the page. Its clock lies behind by the length of an outage. When the schedules
 * have run for a while, the clock jumps ahead, as if no tick and no worker had run in between. Then
 * the stack runs on until Ctrl-C. `--quiet-schedules` and `--quiet-jobs` store this many beside the
 * mess: schedules that do not run meanwhile, and succeeded jobs of the last day.
 */
const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "3000" },
    seed: { type: "string", default: "1" },
    "outage-minutes": { type: "string", default: "6" },
    "run-seconds": { type: "string", default: "130" },
    "quiet-schedules": { type: "string", default: "0" },
    "quiet-jobs": { type: "string", default: "0" },
  },
});

const said = (text: string) => void process.stdout.write(`${text}\n`);

const outageMs = Number(values["outage-minutes"]) * 60_000;
const settings = readSettings(process.env);
const log = textLog("local", () => new Date());
const started = new AsyncDisposableStack();
try {
  await run();
} finally {
  await started.disposeAsync();
}
// The clock's timers would keep the process alive for a minute.
process.exit();

async function run(): Promise<void> {
  if (existsSync(path.join(settings.dataDir, "postgres")))
    throw new Error(`${settings.dataDir} is in use already: the mess needs a CARILLON_DATA_DIR of its own.`);
  const dataDir = openDataDir(settings.dataDir);
  const token = settings.token ?? keptSecret(dataDir.tokenFile);
  const vault = secretVault(keptSecret(dataDir.vaultFile));
  dataDir.release();
  const { sql, clock, url } = await startDatabase(dataDir.postgres, { token, vault });
  const stack = await startStack({ settings: { ...settings, databaseUrl: url, token }, clock, log });
  started.defer(() => stack.stop());
  const { api, sqs, events } = stack.urls;
  await fill({ api, sqs, token, sql, now: clock.now() });
  said(`filled; it runs for ${values["run-seconds"]} s, then misses ${values["outage-minutes"]} minutes`);
  await clock.sleep(Number(values["run-seconds"]) * 1_000);
  await clock.advance(outageMs);
  said(`carillon ready api=${api} sqs=${sqs} events=${events}`);
  await new Promise((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
  });
}

async function startDatabase(
  dataDir: string,
  secrets: FirstSecrets,
): Promise<{ sql: Sql; clock: DatabaseClock; url: string }> {
  const server = await startPostgres({ dataDir, settings: { max_connections: "140" } });
  started.defer(() => server.stop());
  await prepareEmbedded(server.socketUrl, { ...secrets, quotas: [], prefixWeights: [] }, log);
  const own = new URL(server.socketUrl);
  own.pathname = "/carillon";
  const sql = connect({ DATABASE_URL: own.href }, { max: 2 });
  started.defer(() => sql.end());
  const clock = await databaseClock(sql, new Date(Date.now() - outageMs));
  await clock.run(1);
  await seedQuiet(sql);
  return { sql, clock, url: own.href };
}

async function seedQuiet(sql: Sql): Promise<void> {
  const [schedules, jobs] = [Number(values["quiet-schedules"]), Number(values["quiet-jobs"])];
  if (schedules === 0) return;
  await migrate(sql, await readMigrations(migrationsDirectory), log);
  await seedSchedules(sql, schedules, said, { isTrue: true });
  if (jobs > 0) await seedJobs(sql, { schedules, jobs }, said);
  await sql`vacuum (analyze)`;
}

interface Filled {
  api: string;
  sqs: string;
  token: string;
  sql: Sql;
  now: Date;
}

async function fill({ api, sqs: endpoint, token, sql, now }: Filled): Promise<void> {
  const dice = diceOf(seeded(Number(values.seed)));
  const client = new Carillon({ url: api, token });
  const team = await client.tokens.create({ name: "crm-team", scope: "write", prefix: "crm:" });
  await client.calendars.put("holidays", holidaysAfter(now));
  const results = await client.batch(schedulesOf(Number(values.schedules), dice));
  const failed = results.find(({ status }) => status >= 400);
  if (failed !== undefined) throw new Error(`${failed.key} was refused: ${JSON.stringify(failed.error)}`);
  await hold(client, now, dice);
  await edit(client, new Carillon({ url: api, token: team.token }), dice);
  const credentials = { accessKeyId: "mess", secretAccessKey: "mess" };
  const sqs = new SQSClient({ endpoint, region: localRegion, credentials });
  await refuse(sqs, `${endpoint}/000000000000/carillon-ingest`, sql);
  sqs.destroy();
}
