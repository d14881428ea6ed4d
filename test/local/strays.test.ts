import { rmSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type StackProcess, startProcess } from "./local-stack.ts";
import { newFolder } from "./stack-reads.ts";

let folder: string;
let stack: StackProcess;

/**
 * Errors outside of a run that a handler or a schema may cause in its process, here at a signal.
 */
const stray = `process.on("SIGUSR2", () => { Promise.reject(new TypeError("stray")); Promise.reject("hunter2"); throw new RangeError("thrown"); });`;

beforeAll(async () => {
  folder = newFolder();
  const preload = `data:text/javascript,${encodeURIComponent(stray)}`;
  stack = await startProcess(path.join(folder, "data"), { NODE_OPTIONS: `--import=${preload}` });
}, 120_000);

afterAll(async () => {
  await stack.end("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

test("A rejection or an exception outside of a run does not end the local stack, and is logged without secrets", {
  timeout: 120_000,
}, async () => {
  stack.child.kill("SIGUSR2");
  await expect.poll(stack.printed, { timeout: 60_000 }).toContain("TypeError: stray");
  await expect.poll(stack.printed, { timeout: 60_000 }).toContain("RangeError: thrown");
  const created = await stack.request("PUT", "/v1/schedules/after", {
    when: "in 1h",
    target: { queue: "demo" },
  });
  expect(created.status).toBe(201);
  expect(stack.printed()).not.toContain("hunter2");
  expect(stack.child.exitCode).toBeNull();
});
