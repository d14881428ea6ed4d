import { afterAll, beforeAll, expect, test } from "vitest";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;
beforeAll(async () => {
  world = await ingestWorld();
});
afterAll(() => world.stop());

const target = { queue: "demo" };
const deep = (levels: number) =>
  `{"put": {"key": "deep", "when": "every 1h", "target": {"queue": "demo"}, "payload": ${"[".repeat(levels)}${"]".repeat(levels)}}}`;

test.each([63, 5_000, 400_000])(
  "a message nested %i deep is dead with its reason, and the other messages are applied",
  async (levels) => {
    const [id, key] = [`deep-${levels}`, `good-${levels}`];
    const stay = await world.ingest([
      { id, body: deep(levels) },
      { id: `good-${levels}`, body: { put: { key, when: "every 1h", target } } },
    ]);
    expect(stay).toEqual([]);
    expect(await readSchedule(world.carillon.sql, key)).not.toBeNull();
    const message = "The message is nested more than 64 levels deep.";
    expect(
      await world.carillon.sql`
      select refusal->>'message' as message, command, told from carillon.dead_commands where message_id = ${id}`,
    ).toEqual([{ message, command: null, told: true }]);
    const [letter] = await world.deadLetters(1);
    expect(letter).toMatchObject({
      body: deep(levels),
      attributes: { reason: "invalid", detail: message, messageId: id },
    });
  },
);
