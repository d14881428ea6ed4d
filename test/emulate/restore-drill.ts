import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { emulatorAt, ownerSecret } from "../../infra/tools/localstack/emulator.ts";
import { localstackSettings } from "../../infra/tools/localstack/profile.ts";
import { Carillon } from "../../lib/client/carillon.ts";
import { CarillonProblem } from "../../lib/client/request/problem.ts";
import { type PostgresServer, startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { type Arrived, SmokeQueue } from "../smoke/smoke-queue.ts";
import { smokeSettings } from "../smoke/smoke-settings.ts";
import { baseBackup } from "./base-backup.ts";
import { apiAddress, deployTo } from "./deployment.ts";
import { notInstalled, startEmulator } from "./emulator-process.ts";
import { gapsOf } from "./gaps.ts";

/**
 * `npm run drill:restore`: walks docs/restore.md in the emulator, with the deployed functions and a real
 * Postgres. The database is backed up, goes on, and is lost; its backup is restored while the deployment is
 * stopped. Real time: it takes six minutes, and longer on busy cores.
 */
const begun = Date.now();
const say = (line: string) =>
  process.stdout.write(`${String(Math.round((Date.now() - begun) / 1_000)).padStart(4)} s  ${line}\n`);
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

const everySeconds = 10;
const lostIdsMin = 1_000_000_000;

const emulatorProcess = await startEmulator();
if (emulatorProcess === undefined) {
  say(notInstalled);
  process.exitCode = 1;
} else {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-drill-"));
  const servers: PostgresServer[] = [];
  try {
    await drill(emulatorAt(emulatorProcess.url), folder, async (name) => {
      const dataDir = path.join(folder, name);
      mkdirSync(dataDir, { recursive: true });
      const server = await startPostgres({ dataDir });
      servers.push(server);
      return server;
    });
  } finally {
    await emulatorProcess.stop();
    for (const server of servers) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function drill(
  emulator: ReturnType<typeof emulatorAt>,
  folder: string,
  start: (name: string) => Promise<PostgresServer>,
): Promise<void> {
  Object.assign(process.env, emulator);
  const deploy = async ({ url }: PostgresServer, settings: object = {}) =>
    deployTo(
      emulator,
      { ...localstackSettings({ url, secretArn: await ownerSecret(url, emulator) }), ...settings },
      gapsOf("external"),
      folder,
    );

  const lost = await start("lost");
  const { outputs } = await deploy(lost);
  const { url, token } = await smokeSettings({
    CARILLON_URL: apiAddress(outputs.ApiUrl, emulator),
    CARILLON_TOKEN_SECRET: outputs.AdminTokenSecret,
    AWS_REGION: emulator.AWS_REGION,
  });
  const carillon = new Carillon({ url, token });
  const queue = new SmokeQueue("carillon-target-drill");
  await queue.make();
  const body = {
    when: `every ${everySeconds}s`,
    target: { queue: queue.name },
    catchUp: { policy: "all" },
  } as const;
  await carillon.schedules.put("drill:kept", body);
  const before = await arrivals(queue, 6);
  say(`deployed; ${before.length} jobs ran`);

  await baseBackup(lost.url, path.join(folder, "lost"), path.join(folder, "restored"));
  const restoredTo = Date.now();
  await carillon.schedules.put("drill:made-later", body);
  const after = await arrivals(queue, 12);
  await lost.stop();
  const lostAt = Date.now();
  after.push(...(await emptied(queue)));
  const lostJobs = after.filter(({ subject }) => subject === "drill:made-later");
  assert(lostJobs.length > 0, "The schedule made after the backup did not run.");
  say(
    `backed up; ${after.length} further jobs ran, ${lostJobs.length} of them of a new schedule; the database is lost`,
  );

  await deploy(lost, { stopped: true });
  say("1. stopped");
  const restored = await start("restored");
  await deploy(restored, { stopped: true });
  say("3. restored");
  await assert.rejects(
    carillon.schedules.get("drill:made-later"),
    (error) => error instanceof CarillonProblem && error.status === 404,
  );
  await pause(90);
  assert.deepEqual(await emptied(queue), [], "Jobs ran while the deployment was stopped.");
  say("4. the new schedule is gone, and for 90 s no job ran");

  const again = await carillon.schedules.put("drill:made-later", body);
  assert(
    Number(again.id) > lostIdsMin,
    `The schedule has the id ${again.id}, which a lost one may have had.`,
  );
  await deploy(restored, { stopped: false });
  const seen = new Set(after.map(({ id }) => id));
  const keptIds = after.filter(({ subject }) => subject === "drill:kept").map(({ id }) => id);
  const { found: caughtUp, firstNewAt: startedAt } = await untilCaughtUp(queue, Date.now(), keptIds);
  // The schedules' own jobs would keep the queue from ever being empty.
  for (const key of ["drill:kept", "drill:made-later"]) await carillon.schedules.pause(key);
  caughtUp.push(...(await emptied(queue)));
  const kept = caughtUp.filter(({ subject }) => subject === "drill:kept");
  const twice = kept.filter(({ id }) => seen.has(id));
  assert.equal(twice.length, keptIds.length, "Not each job since the backup ran a second time with its id.");
  assert.equal(new Set(kept.map(({ id }) => id)).size, kept.length, "A job ran twice after the restore.");
  const times = kept.map(({ time }) => time).toSorted((one, other) => one - other);
  for (const [n, time] of times.entries())
    if (n > 0) assert.equal(time - (times[n - 1] ?? 0), everySeconds * 1_000, "An occurrence is missing.");
  const others = caughtUp.filter(({ subject }) => subject === "drill:made-later");
  assert(
    others.every(({ id }) => !seen.has(id)),
    "A new schedule's job has the id of a lost one.",
  );
  say(
    `5. started; ${twice.length} jobs ran a second time with the same id, ${kept.length - twice.length} of the outage ran once, none is missing; ${others.length} jobs of the new schedule have ids that no receiver knows`,
  );

  const empty = await start("empty");
  await assert.rejects(deploy(empty), "A deployment with an empty database succeeded.");
  await carillon.schedules.get("drill:kept");
  say("a deployment with an empty database failed, and the restored one is still in use");
  await queue.remove();
  say(
    `lost ${Math.round((lostAt - restoredTo) / 1_000)} s of changes; jobs ran again ${Math.round((startedAt - lostAt) / 1_000)} s after the loss, 90 s of them for the check`,
  );
}

async function arrivals(queue: SmokeQueue, count: number): Promise<Arrived[]> {
  const found: Arrived[] = [];
  while (found.length < count) found.push(await queue.next(180_000));
  return found;
}

/** The messages that are in the queue, and those that arrive within ten seconds after the last. */
async function emptied(queue: SmokeQueue): Promise<Arrived[]> {
  const found: Arrived[] = [];
  for (;;) {
    const next = await queue.next(10_000).catch(() => undefined);
    if (next === undefined) return found;
    found.push(next);
  }
}

/**
 * The messages up to the last of these ids and the first job of the kept schedule that was due after this
 * instant, in any order: a standard queue keeps none. After four minutes they are those that arrived.
 */
async function untilCaughtUp(
  queue: SmokeQueue,
  instant: number,
  ids: readonly string[],
): Promise<{ found: Arrived[]; firstNewAt: number }> {
  const missing = new Set(ids);
  const found: Arrived[] = [];
  let firstNewAt: number | undefined;
  while ((firstNewAt === undefined || missing.size > 0) && Date.now() < instant + 240_000) {
    const next = await queue.next(240_000);
    found.push(next);
    missing.delete(next.id);
    if (next.subject === "drill:kept" && next.time > instant) firstNewAt ??= Date.now();
  }
  return { found, firstNewAt: firstNewAt ?? Date.now() };
}
