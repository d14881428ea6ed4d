import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestDatabase, testDatabase } from "../support/database.ts";
import { runNode } from "../support/run-node.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase("still");
});
afterAll(() => database.drop());

const queueUrl = "http://127.0.0.1:1/000000000000/queue";

test.each([
  ["tick", { id: "1" }],
  ["worker", { Records: [] }],
  ["ingest", { Records: [] }],
  ["api", { version: "2.0", rawPath: "/v1/health", requestContext: { http: { method: "GET" } } }],
])(
  "A stray rejection or exception outside of a run does not end the %s function, and is logged within the limits of a log line",
  async (name, event) => {
    const module = `
    // As Lambda's runtime does it, before it loads the function.
    process.on("unhandledRejection", () => process.exit(128));
    process.on("uncaughtException", () => process.exit(129));
    const { handler } = await import("./functions/${name}.ts");
    const invocation = { awsRequestId: "1", getRemainingTimeInMillis: () => 50_000 };
    const event = JSON.parse(process.env.EVENT);
    await handler(event, invocation);
    Promise.reject(new TypeError("stray"));
    Promise.reject("hunter2");
    setImmediate(() => { throw new RangeError("thrown"); });
    setImmediate(() => { throw "hunter2"; });
    const stopped = new AbortController();
    stopped.signal.addEventListener("abort", () => { throw new TypeError("of a listener"); });
    stopped.abort();
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    await handler(event, invocation);
    process.stdout.write("went on\\n", () => process.exit(0));`;
    const out = await runNode(module, {
      EVENT: JSON.stringify(event),
      DATABASE_URL: database.url,
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: "not-a-secret",
      FAST_QUEUE_URL: queueUrl,
      SLOW_QUEUE_URL: queueUrl,
      INGEST_QUEUE_URL: queueUrl,
      INGEST_DEAD_QUEUE_URL: queueUrl,
      LIFECYCLE_EVENTS: "none",
    });
    const strays = out.split("\n").filter((line) => line.includes("function.stray-rejection"));
    expect(strays).toHaveLength(2);
    expect(strays[0]).toContain("TypeError: stray");
    const exceptions = out.split("\n").filter((line) => line.includes("function.stray-exception"));
    expect(exceptions).toHaveLength(3);
    for (const text of ["RangeError: thrown", "TypeError: of a listener"])
      expect(exceptions.join("\n")).toContain(text);
    expect(out).not.toContain("hunter2");
    expect(out).toContain("went on");
  },
);
