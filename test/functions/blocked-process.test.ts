import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { endOfNode, runNode } from "../support/run-node.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase("still");
});
afterAll(() => database.drop());

const queueUrl = "http://127.0.0.1:1/000000000000/queue";
const workerEnv = () => ({
  DATABASE_URL: database.url,
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "not-a-secret",
  FAST_QUEUE_URL: queueUrl,
  SLOW_QUEUE_URL: queueUrl,
  LIFECYCLE_EVENTS: "none",
  CARILLON_LOG: "silent",
});
const invocation = `{ awsRequestId: "1", getRemainingTimeInMillis: () => 50_000 }`;
/** Blocks the process as a handler could, without using a core. */
const blocks = "{ get Records() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); } }";

/** A handler under a watchdog that ends a process after 600 ms. */
const watched = (handler: string) => `
  const { endedWhenBlocked } = await import("./lib/config/blocked-process.ts");
  const handler = endedWhenBlocked(${handler}, 600);
  const block = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);`;

test("A process that is blocked during a call is ended, and the log says so", async () => {
  const { out, end } = await endOfNode(
    `${watched("() => { for (;;); }")} await handler({}, ${invocation});`,
    {},
  );
  expect(end).toBe("SIGKILL");
  expect(JSON.parse(out)).toEqual({ level: "error", event: "worker.blocked", seconds: 0.6 });
});

test("A process that is blocked while no call is running continues", async () => {
  const module = `${watched("async () => 7")}
    console.log(await handler({}, ${invocation}));
    block(2_000);
    console.log(await handler({}, ${invocation}));
    process.exit(0);`;
  expect(await runNode(module, {})).toBe("7\n7");
});

test("A call whose event loop is not blocked may take longer than the limit for blocked processes", async () => {
  const module = `
    const { endedWhenBlocked } = await import("./lib/config/blocked-process.ts");
    const waits = async () => { for (let n = 0; n < 60; n++) await new Promise((turn) => setTimeout(turn, 100)); };
    await endedWhenBlocked(waits, 3_000)({}, ${invocation});
    console.log("done");
    process.exit(0);`;
  expect(await runNode(module, {})).toBe("done");
});

test("The function that runs handlers is ended when it has been blocked for the length of a lease", async () => {
  const module = `
    const { handler } = await import("./functions/worker.ts");
    await handler({ Records: [] }, ${invocation});
    await handler(${blocks}, ${invocation});`;
  const { out, end } = await endOfNode(module, { ...workerEnv(), TARGET_WINDOW: "5" });
  expect(end).toBe("SIGKILL");
  expect(JSON.parse(out)).toMatchObject({ event: "worker.blocked", seconds: 30 });
}, 120_000);
