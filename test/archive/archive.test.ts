import { gunzipSync } from "node:zlib";
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { type FauxqsServer, startFauxqs } from "fauxqs";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { assemble } from "../../functions/archive.ts";
import { archiveDays } from "../../lib/archive/archive-days.ts";
import { type ArchiveStore, s3Store } from "../../lib/archive/archive-store.ts";
import { daysToArchive, takeDay } from "../../lib/archive/archived-day.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { lookAtDays } from "../../lib/retention/past-days.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { at, day, minute } from "../support/instants.ts";
import { connectAsMember } from "../support/role-logins.ts";

const bucket = "ledger";
const retentionDays = 2;
const monday = "2026-03-02";

let server: FauxqsServer;
let s3: S3Client;
let world: Carillon;
let archivist: Sql;
let prefix: string;
let runs = 0;

beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false, host: "127.0.0.1" });
  s3 = new S3Client({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: "eu-central-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    forcePathStyle: true,
  });
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
});
afterAll(async () => {
  s3.destroy();
  await server.stop();
});

beforeEach(async () => {
  world = await carillon();
  archivist = await connectAsMember(world.sql, world.databaseUrl, "carillon_archive");
  prefix = `run-${runs++}/`;
});
afterEach(async () => {
  await archivist.end();
  await world.stop();
});

const toBucket = (): ArchiveStore => s3Store(s3, { bucket, prefix });

function archive({
  store = toBucket(),
  partJobs = 3,
  timeIsUp = () => false,
}: {
  store?: ArchiveStore;
  partJobs?: number;
  timeIsUp?: () => boolean;
} = {}): Promise<string[]> {
  const part = { jobs: partJobs, bytes: 1_000_000 };
  return archiveDays({ sql: archivist, store, log: world.log }, { retentionDays, part }, timeIsUp);
}

const drop = () => dropPastDays(world, retentionDays, { archived: true });

async function objects(): Promise<string[]> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
  return Contents.map(({ Key = "" }) => Key.slice(prefix.length)).sort();
}

async function object(name: string): Promise<Uint8Array> {
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: `${prefix}${name}` }));
  if (Body === undefined) throw new Error(`${name} has no body.`);
  return Body.transformToByteArray();
}

interface Line {
  id: string;
  key: string | null;
  state: string;
  attempts: { attempt: number; outcome: string; error: string | null }[];
  [name: string]: unknown;
}

async function linesOf(day: string): Promise<Line[]> {
  const parts = (await objects()).filter((name) => name.startsWith(`jobs/day=${day}/part-`));
  const texts = await Promise.all(parts.map(async (name) => gunzipSync(await object(name)).toString()));
  return texts
    .flatMap((each) => each.split("\n").filter((line) => line !== ""))
    .map((line) => JSON.parse(line));
}

async function manifestOf(day: string): Promise<unknown> {
  return JSON.parse(Buffer.from(await object(`jobs/day=${day}/manifest.json`)).toString());
}

/**
 * Runs a schedule that succeeds for ten minutes, and one whose only job is dead after two attempts.
 * Then lets this number of days pass.
 */
async function mondayAnd(days: number): Promise<void> {
  world.outcome = ({ key }) => (key === "dies" ? failed("no such order") : { kind: "done" });
  await world.put("often", { when: "every 1m", endsAt: "2026-03-02T10:08:00Z", group: "g" });
  await world.put("dies", { when: "in 90s", retry: { attempts: 2, backoff: "fixed", base: "30s" } });
  for (let passed = 0; passed < 10; passed++) {
    await world.tick();
    await world.work();
    await world.clock.advance(minute / 2);
    await world.work();
    await world.clock.advance(minute / 2);
    await world.work();
  }
  await world.clock.advance(days * day);
  await world.sql`update carillon.shards set watermark_at = carillon.clock()`;
}

const jobsOfMonday = 8;

describe("a day past its retention", () => {
  test("a day is archived line by line before the tick drops it, and no other day is dropped", async () => {
    await mondayAnd(3);
    expect(await drop()).toEqual(expect.not.arrayContaining(["jobs_20260302"]));
    const env = {
      AWS_REGION: "eu-central-1",
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${server.port}`,
      AWS_ACCESS_KEY_ID: "test",
      AWS_SECRET_ACCESS_KEY: "test",
      ARCHIVE_PATH_STYLE: "true",
      ARCHIVE_BUCKET: bucket,
      ARCHIVE_PREFIX: prefix,
      RETENTION_DAYS: String(retentionDays),
      DATABASE_URL: world.databaseUrl,
    };
    const fn = assemble(env);
    const answer = await fn.handler({}, { awsRequestId: "1", getRemainingTimeInMillis: () => 900_000 });
    await fn.close();
    expect(answer.days).toEqual(["2026-03-01", monday]);
    expect(await objects()).toEqual([
      "jobs/day=2026-03-01/manifest.json",
      "jobs/day=2026-03-02/manifest.json",
      "jobs/day=2026-03-02/part-00001.jsonl.gz",
    ]);
    const lines = await linesOf(monday);
    expect(lines).toHaveLength(jobsOfMonday);
    expect(lines.find(({ key }) => key === "dies")).toEqual({
      id: `2-${at(90_000).getTime()}-c0`,
      scheduleId: "2",
      occurrence: at(90_000).toISOString(),
      kind: "cadence",
      n: 0,
      key: "dies",
      group: null,
      target: "queue/demo",
      version: 1,
      state: "dead",
      reason: "attempts",
      attempt: 2,
      dueAt: at(90_000).toISOString(),
      startedAt: expect.any(String),
      finishedAt: expect.any(String),
      error: "no such order",
      payload: null,
      attempts: [
        {
          attempt: 1,
          outcome: "failed",
          error: "no such order",
          startedAt: expect.any(String),
          finishedAt: expect.any(String),
        },
        {
          attempt: 2,
          outcome: "failed",
          error: "no such order",
          startedAt: expect.any(String),
          finishedAt: expect.any(String),
        },
      ],
    });
    expect(
      lines.filter(({ state }) => state === "succeeded").every(({ attempts }) => attempts.length === 0),
    ).toBe(true);
    expect(await manifestOf(monday)).toEqual({
      format: 1,
      day: monday,
      jobs: jobsOfMonday,
      attempts: 2,
      parts: ["part-00001.jsonl.gz"],
    });
    expect(await drop()).toEqual(expect.arrayContaining(["jobs_20260301", "jobs_20260302"]));
    expect(await archive()).toEqual([]);
  });

  test("an unfinished archive of a day is resumed where it stopped, by any archiver, and no job is archived twice", async () => {
    await mondayAnd(3);
    await archive({ timeIsUp: () => true });
    let looks = 0;
    // Time for a check of both days, for Sunday, which is empty, and for one part of Monday.
    expect(await archive({ timeIsUp: () => looks++ === 6 })).toEqual(["2026-03-01"]);
    expect(await world.sql`select parts from carillon.archived_days where day = ${monday}`).toEqual([
      { parts: 1 },
    ]);
    expect(await drop()).toEqual(expect.not.arrayContaining(["jobs_20260302"]));
    expect(await archive()).toEqual([monday]);
    const ids = (await linesOf(monday)).map(({ id }) => id);
    expect(ids).toHaveLength(jobsOfMonday);
    expect(new Set(ids).size).toBe(jobsOfMonday);
    expect(await manifestOf(monday)).toMatchObject({ jobs: jobsOfMonday, parts: { length: 3 } });
  });

  test("when a part is refused, the next run resumes after the last stored part", async () => {
    await mondayAnd(3);
    const refusing: ArchiveStore = {
      put: (name, ...rest) =>
        name.endsWith("part-00002.jsonl.gz")
          ? Promise.reject(new Error("the bucket is away"))
          : toBucket().put(name, ...rest),
    };
    expect(await archive({ store: refusing })).toEqual(["2026-03-01"]);
    expect(await archive()).toEqual([]);
    await world.clock.advance(minute);
    expect(await archive()).toEqual([monday]);
    expect(await manifestOf(monday)).toMatchObject({ jobs: jobsOfMonday, attempts: 2 });
    expect((await linesOf(monday)).map(({ id }) => id)).toHaveLength(jobsOfMonday);
  });

  test("the archive of a day whose archiver died is resumed when its lease ends", async () => {
    await mondayAnd(3);
    expect(await takeDay(archivist, monday)).toMatchObject({ parts: 0 });
    expect(await archive()).toEqual(["2026-03-01"]);
    await world.clock.advance(17 * minute);
    expect(await archive()).toEqual([monday]);
  });

  test("a day is archived once by two concurrent archivers", async () => {
    await mondayAnd(3);
    const both = await Promise.all([archive(), archive()]);
    expect(both.flat().filter((each) => each === monday)).toHaveLength(1);
    expect(new Set((await linesOf(monday)).map(({ id }) => id)).size).toBe(jobsOfMonday);
    expect(await linesOf(monday)).toHaveLength(jobsOfMonday);
  });

  test("a day that another archiver has completed since the query for days is not archived again", async () => {
    await mondayAnd(3);
    await lookAtDays({ sql: archivist, log: world.log }, retentionDays, () => false);
    const [{ item: seen } = { item: "none" }] = await daysToArchive(archivist, retentionDays);
    expect(await archive()).toEqual(expect.arrayContaining([seen, monday]));
    expect(await takeDay(archivist, seen)).toBeNull();
    expect(await takeDay(archivist, monday)).toBeNull();
  });

  test("a day is archived again if one of its dead jobs was retried since, and dropped only then", async () => {
    await mondayAnd(3);
    await archive({ partJobs: 2 });
    world.outcome = () => ({ kind: "done" });
    const id = `2-${at(90_000).getTime()}-c0`;
    await retryJob({ sql: world.sql, queue: world.queue }, { id, reason: "mended", caller: { name: "ann" } });
    await world.work();
    await drop();
    await world.clock.advance(2 * day);
    expect(await archive({ partJobs: 4 })).not.toContain(monday);
    await world.clock.advance(day);
    expect(await drop()).not.toContain("jobs_20260302");
    expect(await archive({ partJobs: 4 })).toContain(monday);
    const lines = await linesOf(monday);
    expect(lines.map((line) => line.id)).toHaveLength(jobsOfMonday);
    expect(lines.find((line) => line.id === id)).toMatchObject({
      state: "succeeded",
      attempts: { length: 3 },
    });
    expect(await manifestOf(monday)).toMatchObject({ parts: { length: 2 } });
    expect((await objects()).filter((name) => name.includes(`${monday}/part`))).toHaveLength(4);
    expect(await drop()).toContain("jobs_20260302");
  });
});

test("the archiver's role reads jobs and can write only its own progress", async () => {
  await expect(archivist`update carillon.jobs set error = ''`).rejects.toMatchObject({ code: "42501" });
  await expect(archivist`delete from carillon.archived_days`).rejects.toMatchObject({ code: "42501" });
  await expect(archivist`select payload from carillon.schedule_versions`).rejects.toMatchObject({
    code: "42501",
  });
  await expect(
    archivist`select carillon.drop_day_of_jobs('2026-03-02', '1 day', false)`,
  ).rejects.toMatchObject({
    code: "42501",
  });
});
