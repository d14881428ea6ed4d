import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import postgres from "postgres";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startPostgres } from "../../lib/local/postgres/start-postgres.ts";
import { wording } from "../../lib/log/wording.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { endOf, readQueue, type StackProcess, spawnStart, startProcess, waitingIn } from "./local-stack.ts";

const newFolder = () => mkdtempSync(path.join(tmpdir(), "carillon start "));

/** What a start that must fail prints, and its exit code. */
async function failedStart(
  dataDir: string,
  env: Record<string, string> = {},
): Promise<{ code: number | null; said: string[] }> {
  const child = spawnStart(dataDir, env);
  const said: string[] = [];
  if (child.stderr !== null) createInterface(child.stderr).on("line", (line) => said.push(line));
  const closed = once(child, "close");
  const { code } = await endOf(child);
  await closed;
  return { code, said };
}

const envelope = z.looseObject({
  id: z.string(),
  time: z.iso.datetime(),
  generatedat: z.iso.datetime(),
  data: z.unknown(),
});

function dueTimes(bodies: readonly string[]): number[] {
  return bodies.map((body) => Date.parse(envelope.parse(JSON.parse(body)).time));
}

const instant = z.iso.datetime().nullable();
const job = z.looseObject({ id: z.string(), dueAt: z.iso.datetime(), startedAt: instant, state: z.string() });

async function jobsOf(from: StackProcess, key: string): Promise<z.infer<typeof job>[]> {
  const response = await from.request("GET", `/v1/schedules/${key}/jobs?limit=100`);
  return z.object({ items: z.array(job) }).parse(await response.json()).items;
}

/** Waits until so many jobs of the schedule have succeeded, and gives the due times of all of its jobs in order. */
function settled(from: StackProcess, key: string, count: number): Promise<number[]> {
  return until(`${count} jobs of ${key} have succeeded`, async () => {
    const jobs = await jobsOf(from, key);
    if (jobs.filter(({ state }) => state === "succeeded").length < count) return undefined;
    return jobs.map(({ dueAt }) => Date.parse(dueAt)).toSorted((one, other) => one - other);
  });
}

const stats = z.looseObject({
  asOf: z.iso.datetime(),
  plan: z.looseObject({ lastTickAt: z.iso.datetime().nullable() }),
});

/** What time it is by the stack's own clock, once its first tick is through: from then on nothing that is due soon waits for a tick. */
function timeAfterTick(from: StackProcess): Promise<number> {
  return until("the first tick is through", async () => {
    const { asOf, plan } = stats.parse(await (await from.request("GET", "/v1/stats")).json());
    return plan.lastTickAt !== null && Date.parse(asOf);
  });
}

/**
 * Wipes the queues. What was in them is offered again a minute after it was due; that minute passes here at once, so that
 * the tick at the next start finds it.
 */
async function loseQueues(dataDir: string): Promise<void> {
  rmSync(path.join(dataDir, "sqs"), { recursive: true });
  const server = await startPostgres({ dataDir: path.join(dataDir, "postgres") });
  const url = new URL(server.url);
  url.pathname = "/carillon";
  const sql = postgres(url.href, { max: 1 });
  await sql`update carillon.parcels set offer_at = carillon.clock() where lease_until is null`;
  await sql.end();
  await server.stop();
}

describe("npm start below a folder that only its owner may enter", { timeout: 120_000 }, () => {
  let folder: string;
  let dataDir: string;
  let stack: StackProcess;

  beforeAll(async () => {
    folder = newFolder();
    dataDir = path.join(folder, "data");
    mkdirSync(dataDir);
    chmodSync(folder, 0o700);
    stack = await startProcess(dataDir);
  });

  afterAll(async () => {
    await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });

  test("a schedule that is put over HTTP has its job at once, and becomes one message in its queue, not before it is due", async () => {
    await timeAfterTick(stack);
    const body = { when: "in 2s", target: { queue: "demo" }, payload: { n: 1 } };
    const created = await stack.request("PUT", "/v1/schedules/hello", body);
    expect(created.status).toBe(201);
    // It does not wait for the next tick.
    expect(await jobsOf(stack, "hello")).toHaveLength(1);
    const [message = ""] = await readQueue(stack, "demo", ({ length }) => length > 0);
    const { data, time, generatedat } = envelope.parse(JSON.parse(message));
    expect(data).toEqual({ n: 1 });
    const [due] = await settled(stack, "hello", 1);
    const [{ startedAt = null } = {}] = await jobsOf(stack, "hello");
    expect(due).toBe(Date.parse(time));
    expect(Date.parse(startedAt ?? "")).toBeGreaterThanOrEqual(due ?? Number.NaN);
    expect(Date.parse(generatedat)).toBeGreaterThanOrEqual(Date.parse(time));
    expect(await waitingIn(stack, "demo")).toBe(0);
  });

  test("events of jobs are put on the bus, where they can be seen", async () => {
    await stack.request("PUT", "/v1/schedules/event", {
      when: "in 1s",
      target: { event: {} },
      payload: { n: 2 },
    });
    const { events } = stack.urls;
    const seen = async () => (await fetch(`${events}/events`)).text();
    await expect.poll(seen, { timeout: 60_000 }).toContain('"data":{"n":2}');
    expect(await (await fetch(events)).text()).toContain("carillon.job.due");
  });

  test("the stack listens on the loopback interface alone, and answers no request without the token but that for its health", async () => {
    expect(Object.values(stack.urls).every((url) => url.startsWith("http://127.0.0.1:"))).toBe(true);
    expect((await fetch(`${stack.urls.api}/v1/schedules`)).status).toBe(401);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
  });

  test("a second start on the same data directory says so and ends with 1, and the first goes on", async () => {
    const { code, said } = await failedStart(dataDir);
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringMatching(/^Another Carillon is running on the data directory/)]);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
  });
});

// A start takes seconds, and many times that where the machine has other work.
describe("npm start", { timeout: 120_000 }, () => {
  let folder: string;
  let dataDir: string;
  let stack: StackProcess | undefined;

  beforeEach(() => {
    folder = newFolder();
    dataDir = path.join(folder, "data");
  });

  afterEach(async () => {
    await stack?.end("SIGTERM");
    stack = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    ["kill -9", async () => {}],
    ["kill -9 and the loss of every queue", loseQueues],
  ])("each occurrence runs once over %s", async (_, lose) => {
    stack = await startProcess(dataDir);
    await timeAfterTick(stack);
    const often = { when: "every 1s", target: { queue: "often" } };
    await stack.request("PUT", "/v1/schedules/before", { ...often, maxFires: 2 });
    const early = await readQueue(stack, "often", ({ length }) => length >= 2);
    await settled(stack, "before", 2);
    // Killed while its jobs wait in the queue, and none is under way: one that is out and not yet settled may come twice, and the crash tests are about that.
    const first = Math.ceil((await timeAfterTick(stack)) / 1_000) * 1_000 + 8_000;
    const startsAt = new Date(first).toISOString();
    await stack.request("PUT", "/v1/schedules/after", { ...often, startsAt, maxFires: 4 });
    expect((await jobsOf(stack, "after")).map(({ state }) => state)).toEqual(Array(4).fill("waiting"));
    await stack.end("SIGKILL");
    await lose(dataDir);
    stack = await startProcess(dataDir);
    const late = await readQueue(stack, "often", ({ length }) => length >= 4);
    const due = [0, 1, 2, 3].map((second) => first + 1_000 * second);
    expect(await settled(stack, "after", 4)).toEqual(due);
    expect(dueTimes(late).toSorted((one, other) => one - other)).toEqual(due);
    expect(dueTimes(early).toSorted((one, other) => one - other)).toEqual(await settled(stack, "before", 2));
    expect(await waitingIn(stack, "often")).toBe(0);
  });

  test.each(["SIGTERM", "SIGINT"] as const)(
    "the stack stops in order on %s, and leaves no Postgres behind",
    async (signal) => {
      stack = await startProcess(dataDir);
      await timeAfterTick(stack);
      const exited = once(stack.child, "close");
      expect(await stack.end(signal)).toEqual({ code: 0, signal: null });
      await exited;
      // It cuts off what has not stopped within five seconds, says so and ends with 1.
      expect(stack.printed()).toContain(wording["local.stopping"]);
      expect(stack.printed()).not.toContain(wording["local.stop-cut"]);
      expect(() => statSync(path.join(dataDir, "postgres", "cluster", "postmaster.pid"))).toThrow(/ENOENT/);
    },
  );

  test("ends with 1 and says so when its Postgres is killed", async () => {
    stack = await startProcess(dataDir);
    const [pid] = readFileSync(path.join(dataDir, "postgres", "cluster", "postmaster.pid"), "utf8").split(
      "\n",
    );
    process.kill(Number(pid), "SIGKILL");
    expect(await endOf(stack.child)).toEqual({ code: 1, signal: null });
    expect(stack.printed()).toContain("Postgres ended by itself");
  });

  test("makes a token once, keeps it where only its owner can read it, and says where", async () => {
    stack = await startProcess(dataDir, { CARILLON_TOKEN: "" });
    const file = path.join(dataDir, "token");
    expect(stack.printed()).toContain(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, "utf8").trim();
    expect(stack.printed()).not.toContain(token);
    await stack.end("SIGTERM");
    stack = await startProcess(dataDir, { CARILLON_TOKEN: "" });
    expect(readFileSync(file, "utf8").trim()).toBe(token);
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${stack.urls.api}/v1/schedules`, { headers })).status).toBe(200);
  });

  test("uses the database that DATABASE_URL names and starts none", async () => {
    const database = await testDatabase();
    stack = await startProcess(dataDir, { DATABASE_URL: database.url });
    const created = await stack.request("PUT", "/v1/schedules/a", { when: "in 1h", target: { queue: "q" } });
    expect(created.status).toBe(201);
    expect(() => statSync(path.join(dataDir, "postgres"))).toThrow(/ENOENT/);
    await stack.end("SIGTERM");
    await database.drop();
  });

  test("says in one sentence which port is taken and how to choose another, and ends with 2", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const address = squatter.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const { code, said } = await failedStart(dataDir, { CARILLON_SQS_PORT: port });
    squatter.close();
    expect(code).toBe(2);
    expect(said).toEqual([expect.stringMatching(new RegExp(`^Port ${port} .*CARILLON_SQS_PORT`))]);
  });

  test.each([
    ["CARILLON_PORT", "http"],
    ["CARILLON_PORT", "65536"],
    ["CARILLON_TOKEN", "two words"],
  ])("refuses %s=%s with a sentence, and ends with 1", async (variable, value) => {
    const { code, said } = await failedStart(dataDir, { [variable]: value });
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringContaining(variable)]);
  });

  test("ends with 1 when the database cannot be reached", async () => {
    const { code, said } = await failedStart(dataDir, { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
    expect(code).toBe(1);
    expect(said).toHaveLength(1);
  });
});
