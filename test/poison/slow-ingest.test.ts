import { expect, test } from "vitest";
import { ingestWorld } from "../ingest/ingest-world.ts";

test("Early messages of a slow command queue are rescheduled only while there is time", async () => {
  const world = await ingestWorld();
  try {
    let requests = 0;
    world.deps.queue.sqs.middlewareStack.add(
      (next) => (args) => {
        requests += 1;
        return next(args);
      },
      { step: "initialize" },
    );
    const early = Array.from({ length: 30 }, (_, n) => ({
      id: `m${n}`,
      body: { pause: { key: `k${n}` } },
    }));
    // Each request takes so long that there is no time for another one.
    expect(await world.ingest(early, () => requests > 0)).toHaveLength(30);
    expect(requests).toBe(1);
  } finally {
    await world.stop();
  }
});
