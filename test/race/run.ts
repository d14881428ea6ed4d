import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { connect } from "../../lib/db/connect.ts";
import { migrate } from "../../lib/db/migrate/migrate.ts";
import { migrationsDirectory, readMigrations } from "../../lib/db/migrate/migration.ts";
import { silentLog } from "../../lib/log/log.ts";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { lineOf, race } from "./race.ts";
import { mutants } from "./random-mutants.ts";

const help = `npm run race -- [options]

  --minutes N     how long edits and faults last; the healing is additional (1)
  --seed N        of the first round; each round takes the next (a random one)
  --rounds N      the number of rounds, each on a database of its own; --minutes is for all of them together (one each 40 s:
                  one process plays all actors, and longer rounds only accumulate unfinished work)
  --mutant NAME   remove a safeguard and check that the oracle notices: ${Object.keys(mutants).join(", ")}`;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "1" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    rounds: { type: "string" },
    mutant: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const roundSeconds = 40;
const healMs = 120_000;

async function run(): Promise<void> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-race-"));
  const settings = {
    fsync: "off",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "100",
  };
  const server = await startPostgres({ dataDir, settings });
  try {
    const rounds = Number(values.rounds ?? Math.ceil((Number(values.minutes) * 60) / roundSeconds));
    for (let round = 0; round < rounds; round++) await runRound(server.url, round, rounds);
  } finally {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function runRound(serverUrl: string, round: number, rounds: number): Promise<void> {
  const name = `race_${round}`;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const server = connect({ DATABASE_URL: serverUrl });
  await server.unsafe(`create database ${name}`);
  const side = connect({ DATABASE_URL: url.href });
  await migrate(side, await readMigrations(migrationsDirectory), silentLog);
  const mutant = values.mutant === undefined ? undefined : mutants[values.mutant];
  const seed = Number(values.seed) + round;
  process.stdout.write(`seed ${seed}\n`);
  const report = await race({
    databaseUrl: url.href,
    seed,
    volume: { ms: (Number(values.minutes) * 60_000) / rounds },
    healMs,
    mutate: (await mutant?.(side)) ?? {},
  });
  await side.end();
  process.stdout.write(`${lineOf(report)}\n`);
  for (const violation of report.violations.slice(0, 20)) process.stdout.write(`  ${violation}\n`);
  if (report.violations.length > 0) {
    process.stdout.write(
      `Again with: npm run race -- --seed ${seed} --rounds 1 --minutes ${Number(values.minutes) / rounds}\n`,
    );
    process.exitCode = 1;
  }
  await server.unsafe(`drop database ${name} with (force)`);
  await server.end();
}

if (values.help || (values.mutant !== undefined && mutants[values.mutant] === undefined)) {
  process.stderr.write(`${help}\n`);
  process.exitCode = values.help ? 0 : 2;
} else await run();
