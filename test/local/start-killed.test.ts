import { rmSync } from "node:fs";
import path from "node:path";
import postgres from "postgres";
import { describe, expect, test } from "vitest";
import { startPostgres } from "../../lib/tools/local/postgres/start-postgres.ts";
import { readQueue, waitingIn } from "./local-stack.ts";
import { eachItsOwnStack, envelope, jobsOf, settled, timeAfterTick } from "./stack-reads.ts";

function dueTimes(bodies: readonly string[]): number[] {
  return bodies.map((body) => Date.parse(envelope.parse(JSON.parse(body)).time));
}

/**
 * Empties the queues. Parcels that were in them are sent again a minute after their due time; that
 * minute is skipped here, so that the tick at the next start finds them.
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

// A start takes seconds, and many times as long on a busy machine.
describe("npm start", { timeout: 120_000 }, () => {
  const own = eachItsOwnStack();

  test.each([
    ["kill -9", async () => {}],
    ["kill -9 and the loss of every queue", loseQueues],
  ])("each occurrence runs once in spite of %s", async (_, lose) => {
    let stack = await own.start();
    await timeAfterTick(stack);
    const often = { when: "every 1s", target: { queue: "often" } };
    await stack.request("PUT", "/v1/schedules/before", { ...often, maxFires: 2 });
    const early = await readQueue(stack, "often", ({ length }) => length >= 2);
    await settled(stack, "before", 2);
    // Killed while its jobs wait in the queue and none is under way: a job that is delivered and
    // not yet settled may run twice, which the crash tests cover.
    const first = Math.ceil((await timeAfterTick(stack)) / 1_000) * 1_000 + 8_000;
    const startsAt = new Date(first).toISOString();
    await stack.request("PUT", "/v1/schedules/after", { ...often, startsAt, maxFires: 4 });
    expect((await jobsOf(stack, "after")).map(({ state }) => state)).toEqual(Array(4).fill("waiting"));
    await stack.end("SIGKILL");
    await lose(own.dataDir);
    stack = await own.start();
    const late = await readQueue(stack, "often", ({ length }) => length >= 4);
    const due = [0, 1, 2, 3].map((second) => first + 1_000 * second);
    expect(await settled(stack, "after", 4)).toEqual(due);
    expect(dueTimes(late).toSorted((one, other) => one - other)).toEqual(due);
    expect(dueTimes(early).toSorted((one, other) => one - other)).toEqual(await settled(stack, "before", 2));
    expect(await waitingIn(stack, "often")).toBe(0);
  });
});
