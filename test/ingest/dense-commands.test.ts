import { afterAll, beforeAll, expect, test } from "vitest";
import { at, second } from "../support/instants.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;

beforeAll(async () => {
  world = await ingestWorld();
});

afterAll(() => world.stop());

test("commands that replace many jobs made ahead are applied in transactions of at most 4,000 jobs, one shard after the other", async () => {
  const { carillon } = world;
  const keys = Array.from({ length: 30 }, (_, n) => `dense:${n}`);
  const sent = (commands: readonly object[]) => world.ingest([{ body: commands }]);
  await carillon.tick();
  const dense = { when: "every 1s", target: { queue: "demo" } };
  await sent(keys.map((key) => ({ put: { key, ...dense, startsAt: at(second).toISOString() } })));
  await carillon.clock.advance(second);
  const stayed = await sent(
    keys.map((key) => ({ put: { key, ...dense, startsAt: at(10 * second).toISOString() } })),
  );
  expect(stayed).toEqual([]);
  const written = await carillon.sql<{ size: number; shards: number }[]>`
    select count(*)::int as size, count(distinct shard)::int as shards from carillon.schedules where version = 2 group by xmin::text`;
  expect(written.reduce((sum, { size }) => sum + size, 0)).toBe(keys.length);
  expect(Math.max(...written.map(({ size }) => size))).toBeLessThanOrEqual(11);
  expect(written.reduce((sum, { shards }) => sum + shards, 0)).toBeLessThan(16 + written.length);
});
