import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { until } from "../support/until.ts";
import { readQueue, type StackProcess } from "./local-stack.ts";
import { eachItsOwnStack } from "./stack-reads.ts";

const hook = `
import { registerHooks } from "node:module";
const url = "data:text/javascript," + encodeURIComponent('throw new Error("STRIPE_KEY is not set"); export const handlers = [];');
registerHooks({
  resolve: (name, context, next) => (name === "#handlers" ? { url, shortCircuit: true } : next(name, context)),
});
`;

// A start takes seconds, and many times as long on a busy machine.
describe("a deployment whose handlers throw when they are imported", { timeout: 120_000 }, () => {
  const own = eachItsOwnStack();

  async function status(stack: StackProcess, method: string, where: string, body?: object): Promise<number> {
    return (await stack.request(method, where, body)).status;
  }

  test("The API, the tick and the other targets work on, and only what needs a handler fails, with the reason", async () => {
    const greet = { when: "every 1d", target: { handler: "greet" } };
    const before = await own.start();
    expect(await status(before, "PUT", "/v1/schedules/greeting", greet)).toBe(201);
    await before.end("SIGTERM");

    const file = path.join(path.dirname(own.dataDir), "hook.mjs");
    writeFileSync(file, hook);
    const broken = await own.start({ NODE_OPTIONS: `--import ${JSON.stringify(file)}` });
    const queued = { when: "in 1s", target: { queue: "orders" } };
    expect(await status(broken, "PUT", "/v1/schedules/order", queued)).toBe(201);
    expect(broken.printed()).toContain("the module of the handlers threw when it was imported");
    expect(await readQueue(broken, "orders", ({ length }) => length > 0)).toHaveLength(1);
    expect(await status(broken, "PUT", "/v1/schedules/other", greet)).toBe(500);

    const fired = await broken.request("POST", "/v1/schedules/greeting/fire");
    const { id } = z.object({ id: z.string() }).parse(await fired.json());
    const error = await until("the job has failed", async () => {
      const job = await (await broken.request("GET", `/v1/jobs/${id}`)).json();
      return z.object({ error: z.string().nullable() }).parse(job).error ?? undefined;
    });
    expect(error).toBe("The handlers could not be loaded: Error: STRIPE_KEY is not set");
  });
});
