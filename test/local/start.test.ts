import { once } from "node:events";
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase } from "../support/database.ts";
import {
  endOf,
  readQueue,
  type StackProcess,
  sendTo,
  spawnStart,
  startProcess,
  waitingIn,
} from "./local-stack.ts";
import { eachItsOwnStack, envelope, jobsOf, newFolder, settled, timeAfterTick } from "./stack-reads.ts";

/** The output and the exit code of a start that must fail. */
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

describe("npm start below a folder that only its owner may enter", { timeout: 120_000 }, () => {
  let folder: string;
  let dataDir: string;
  let stack: StackProcess;

  beforeAll(async () => {
    folder = newFolder();
    dataDir = path.join(folder, "data");
    mkdirSync(dataDir);
    chmodSync(folder, 0o700);
    stack = await startProcess(dataDir, {
      CARILLON_TARGET_EVENT_SOURCES: "carillon,shop.*",
      INGEST_PREFIX: "shop:",
    });
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
    // The job does not wait for the next tick.
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
    expect(await seen()).toContain("carillon.job.due");
  });

  test("events have a source of CARILLON_TARGET_EVENT_SOURCES, and any other one is refused", async () => {
    const put = (source: string) =>
      stack.request("PUT", "/v1/schedules/of-shop", {
        when: "in 1s",
        target: { event: { source, detailType: "order.due" } },
        payload: { n: 3 },
      });
    expect((await put("billing")).status).toBe(422);
    expect((await put("shop.orders")).status).toBe(201);
    const seen = async () => (await fetch(`${stack.urls.events}/events`)).text();
    await expect.poll(seen, { timeout: 60_000 }).toContain('"source":"shop.orders"');
  });

  test("the queue of commands reaches keys that begin with INGEST_PREFIX, and commands for others are refused", async () => {
    const commands = ["other:a", "shop:a"].map((key) => ({
      put: { key, when: "in 1h", target: { queue: "demo" } },
    }));
    await sendTo(stack, "carillon-ingest", JSON.stringify(commands));
    const status = async (key: string) => (await stack.request("GET", `/v1/schedules/${key}`)).status;
    await expect.poll(() => status("shop:a"), { timeout: 60_000 }).toBe(200);
    expect(await status("other:a")).toBe(404);
    expect(await (await stack.request("GET", "/v1/commands/dead")).json()).toMatchObject({
      items: [{ key: "other:a", queuePrefix: "shop:" }],
    });
  });

  test("the stack leaves the address of its API in its data directory, where the CLI reads it", () => {
    expect(readFileSync(path.join(dataDir, "url"), "utf8")).toBe(`${stack.urls.api}\n`);
  });

  test("the stack listens on the loopback interface only, and answers no request without the token except for its health", async () => {
    expect(Object.values(stack.urls).every((url) => url.startsWith("http://127.0.0.1:"))).toBe(true);
    expect((await fetch(`${stack.urls.api}/v1/schedules`)).status).toBe(401);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
  });

  test("a second start on the same data directory reports it and exits with 1, and the first keeps running", async () => {
    const { code, said } = await failedStart(dataDir);
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringMatching(/^Another Carillon is running on the data directory/)]);
    expect((await fetch(`${stack.urls.api}/health`)).status).toBe(200);
  });
});

// A start takes seconds, and many times as long on a busy machine.
describe("npm start", { timeout: 120_000 }, () => {
  const own = eachItsOwnStack();

  test("npm start uses the database that DATABASE_URL names and starts none", async () => {
    const database = await testDatabase();
    const stack = await own.start({ DATABASE_URL: database.url });
    const created = await stack.request("PUT", "/v1/schedules/a", { when: "in 1h", target: { queue: "q" } });
    expect(created.status).toBe(201);
    expect(() => statSync(path.join(own.dataDir, "postgres"))).toThrow(/ENOENT/);
    await stack.end("SIGTERM");
    await database.drop();
  });

  test("npm start names a port that is taken and the variable for another one, and exits with 2", async () => {
    const squatter = createServer().listen(0, "127.0.0.1");
    await once(squatter, "listening");
    const address = squatter.address();
    const port = typeof address === "object" ? String(address?.port) : "";
    const { code, said } = await failedStart(own.dataDir, { CARILLON_SQS_PORT: port });
    squatter.close();
    expect(code).toBe(2);
    expect(said).toEqual([expect.stringMatching(new RegExp(`^Port ${port} .*CARILLON_SQS_PORT`))]);
  });

  test.each([
    ["CARILLON_PORT", "http"],
    ["CARILLON_PORT", "65536"],
    ["CARILLON_TOKEN", "two words"],
  ])("npm start refuses %s=%s with a message, and exits with 1", async (variable, value) => {
    const { code, said } = await failedStart(own.dataDir, { [variable]: value });
    expect(code).toBe(1);
    expect(said).toEqual([expect.stringContaining(variable)]);
  });

  test("npm start exits with 1 when the database cannot be reached", async () => {
    const { code, said } = await failedStart(own.dataDir, {
      DATABASE_URL: "postgres://nobody@127.0.0.1:1/none",
    });
    expect(code).toBe(1);
    expect(said).toHaveLength(1);
  });
});
