import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import postgres from "postgres";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { startPostgres } from "../../lib/local/postgres/start-postgres.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";
import { endOf, readQueue, type StackProcess, spawnStart, startProcess } from "./local-stack.ts";

let folder: string;
let dataDir: string;
let stack: StackProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon start "));
  dataDir = path.join(folder, "data");
});

afterEach(async () => {
  await stack?.end("SIGTERM");
  stack = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** What a start that must fail prints, and its exit code. */
async function failedStart(
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

const envelope = z.looseObject({ id: z.string(), time: z.iso.datetime(), data: z.unknown() });

function dueTimes(bodies: readonly string[]): number[] {
  return bodies.map((body) => Date.parse(envelope.parse(JSON.parse(body)).time));
}

const jobPage = z.object({ items: z.array(z.looseObject({ dueAt: z.iso.datetime(), state: z.string() })) });

/** Waits until each job due by then has succeeded, and gives their due times in order. */
function settledBy(from: StackProcess, instant: number): Promise<number[]> {
  return until("every job that is due has succeeded", async () => {
    const response = await from.request("GET", "/v1/schedules/often/jobs?limit=100");
    const { items } = jobPage.parse(await response.json());
    const due = items.filter(({ dueAt }) => Date.parse(dueAt) <= instant);
    if (due.some(({ state }) => state !== "succeeded")) return undefined;
    return due.map(({ dueAt }) => Date.parse(dueAt)).toSorted((one, other) => one - other);
  });
}

/**
 * Wipes the queues. What was in them is offered again a minute after it was due; that minute passes here at once, so that
 * the tick at the next start finds it.
 */
async function loseQueues(): Promise<void> {
  rmSync(path.join(dataDir, "sqs"), { recursive: true });
  const server = await startPostgres({ dataDir: path.join(dataDir, "postgres") });
  const url = new URL(server.url);
  url.pathname = "/carillon";
  const sql = postgres(url.href, { max: 1 });
  await sql`update carillon.parcels set offer_at = carillon.clock() where lease_until is null`;
  await sql.end();
  await server.stop();
}

describe("npm start", () => {
  test("brings up the whole way: a schedule over HTTP becomes one message in its queue, on time", async () => {
    stack = await startProcess(dataDir);
    const body = { when: "in 2s", target: { queue: "demo" }, payload: { n: 1 } };
    const created = await stack.request("PUT", "/v1/schedules/hello", body);
    expect(created.status).toBe(201);
    const [message = ""] = await readQueue(stack, "demo", ({ length }) => length > 0);
    const arrivedAt = Date.now();
    const { data, time } = envelope.parse(JSON.parse(message));
    expect(data).toEqual({ n: 1 });
    expect(arrivedAt).toBeGreaterThanOrEqual(Date.parse(time));
    expect(arrivedAt - Date.parse(time)).toBeLessThan(5_000);
  });

  test("puts events on the bus, where they can be seen", async () => {
    stack = await startProcess(dataDir);
    await stack.request("PUT", "/v1/schedules/hello", {
      when: "in 1s",
      target: { event: {} },
      payload: { n: 2 },
    });
    const { events } = stack.urls;
    const seen = async () => (await fetch(`${events}/events`)).text();
    await expect.poll(seen, { timeout: 15_000 }).toContain('"data":{"n":2}');
    expect(await (await fetch(events)).text()).toContain("carillon.job.due");
  });

  test.each([
    ["kill -9", async () => {}],
    ["kill -9 and the loss of every queue", loseQueues],
  ])("runs each occurrence once over %s", async (_, lose) => {
    stack = await startProcess(dataDir);
    await stack.request("PUT", "/v1/schedules/often", { when: "every 1s", target: { queue: "often" } });
    const before = await readQueue(stack, "often", ({ length }) => length >= 2);
    // A message that is out and not yet settled may come twice; the crash tests are about that.
    await settledBy(stack, Math.max(...dueTimes(before)));
    await stack.end("SIGKILL");
    await lose();
    stack = await startProcess(dataDir);
    const enough = Date.now() + 2_000;
    const after = await readQueue(stack, "often", (bodies) => dueTimes(bodies).some((at) => at > enough));
    const all = dueTimes([...before, ...after]);
    expect(new Set(all).size).toBe(all.length);
    const due = await settledBy(stack, enough);
    expect(due).toEqual(due.map((_dueAt, index) => (due[0] ?? 0) + 1_000 * index));
  });

  test.each(["SIGTERM", "SIGINT"] as const)("stops cleanly within five seconds of %s", async (signal) => {
    stack = await startProcess(dataDir);
    const since = performance.now();
    expect(await stack.end(signal)).toEqual({ code: 0, signal: null });
    expect(performance.now() - since).toBeLessThan(5_000);
  });

  test("ends with 1 and says so when its Postgres is killed", async () => {
    stack = await startProcess(dataDir);
    const [pid] = readFileSync(path.join(dataDir, "postgres", "cluster", "postmaster.pid"), "utf8").split(
      "\n",
    );
    process.kill(Number(pid), "SIGKILL");
    expect(await endOf(stack.child)).toEqual({ code: 1, signal: null });
    expect(stack.printed()).toContain("Postgres ended by itself");
  });

  test("listens nowhere but on the loopback interface, and answers nobody without the token", async () => {
    stack = await startProcess(dataDir);
    expect(Object.values(stack.urls).every((url) => url.startsWith("http://127.0.0.1:"))).toBe(true);
    expect((await fetch(`${stack.urls.api}/v1/schedules`)).status).toBe(401);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
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

  test("works below a folder that only its owner may enter", async () => {
    mkdirSync(dataDir);
    chmodSync(folder, 0o700);
    stack = await startProcess(dataDir);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
  });

  test("says in one sentence which port is taken and how to choose another, and ends with 2", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const address = squatter.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const { code, said } = await failedStart({ CARILLON_SQS_PORT: port });
    squatter.close();
    expect(code).toBe(2);
    expect(said).toEqual([expect.stringMatching(new RegExp(`^Port ${port} .*CARILLON_SQS_PORT`))]);
  });

  test("refuses a data directory that another one uses, and ends with 1", async () => {
    stack = await startProcess(dataDir);
    const { code, said } = await failedStart();
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringMatching(/^Another Carillon is running on the data directory/)]);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
  });

  test.each([
    ["CARILLON_PORT", "http"],
    ["CARILLON_PORT", "65536"],
    ["CARILLON_TOKEN", "two words"],
  ])("refuses %s=%s with a sentence, and ends with 1", async (variable, value) => {
    const { code, said } = await failedStart({ [variable]: value });
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringContaining(variable)]);
  });

  test("ends with 1 when the database cannot be reached", async () => {
    const { code, said } = await failedStart({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" });
    expect(code).toBe(1);
    expect(said).toHaveLength(1);
  });
});
