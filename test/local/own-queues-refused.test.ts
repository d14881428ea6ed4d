import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { localQueueArn } from "../../lib/tools/local/local-account.ts";
import { until } from "../support/until.ts";
import { startProcess } from "./local-stack.ts";

const jobs = z.object({ items: z.array(z.looseObject({ state: z.string() })) });

const own = [
  "carillon-fast",
  "carillon-fast-dead",
  "carillon-slow-dead",
  localQueueArn("carillon-ingest"),
  "carillon-ingest-dead",
];

test("A job for a queue of Carillon's own is dead at once, and a command in its payload is not applied", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "carillon-own-"));
  const stack = await startProcess(folder);
  try {
    const payload = { command: "put", key: "forged", when: "every 1h", target: { queue: "demo" } };
    for (const [n, queue] of own.entries()) {
      const body = { when: "in 1s", target: { queue }, payload };
      expect((await stack.request("PUT", `/v1/schedules/own-${n}`, body)).status).toBe(201);
    }
    for (const n of own.keys()) {
      const [job] = await until(`job ${n} is dead`, async () => {
        const answer = await stack.request("GET", `/v1/schedules/own-${n}/jobs`);
        const { items } = jobs.parse(await answer.json());
        return items[0]?.state === "dead" && items;
      });
      expect(job).toMatchObject({ attempt: 1, error: "This is one of Carillon's own queues." });
    }
    expect((await stack.request("GET", "/v1/schedules/forged")).status).toBe(404);
    expect(await (await stack.request("GET", "/v1/commands/dead")).json()).toMatchObject({ items: [] });
  } finally {
    await stack.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
});
