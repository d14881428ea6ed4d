import { afterAll, beforeAll, expect, test } from "vitest";
import { findSchedule } from "../../lib/schedule/stored/stored-schedule.ts";
import { second } from "../support/instants.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

let world: IngestWorld;

beforeAll(async () => {
  world = await ingestWorld();
});

afterAll(() => world.stop());

const ago = (ms: number) => new Date(world.carillon.clock.now().getTime() - ms).toISOString();

test("a put that comes too late to be remembered does not undo a patch that was forgotten since", async () => {
  // Otherwise the put is applied, only the remembered patches are repeated, and the oldest patch is
  // lost.
  const key = "patched-often";
  const put = { key, when: "every 1h", target: { queue: "demo" } };
  await world.command({ at: ago(100 * second), put: { ...put, description: "put" } });
  await world.command({ at: ago(80 * second), patch: { key, description: "patched" } });
  const patches = Array.from({ length: 50 }, (_, n) => ({
    at: ago((60 - n) * second),
    patch: { key, payload: n },
  }));
  await world.command(patches);
  await world.command({ at: ago(90 * second), put: { ...put, description: "late" } });
  expect(await findSchedule(world.carillon.sql, key)).toMatchObject({
    body: { description: "patched", payload: 49 },
  });
});

test("a queue reaches no key that has the queue's prefix elsewhere than at its beginning", async () => {
  // Otherwise a team's queue edits the schedules of another team.
  world.deps.prefix = "team:";
  await world.command({ put: { key: "other:team:1", when: "every 1h", target: { queue: "demo" } } });
  world.deps.prefix = null;
  expect(await findSchedule(world.carillon.sql, "other:team:1")).toBeNull();
});

test("a command that is applied in a second delivery is no longer listed as dead", async () => {
  // Otherwise an operator retries a command that was applied long ago, and undoes later edits.
  const message = {
    id: "mended",
    body: { put: { key: "mended", when: "every 1h", target: { queue: "demo" } } },
  };
  const dead = () => world.carillon.sql`select from carillon.dead_commands where message_id = 'mended'`;
  world.deps.prefix = "team:";
  await world.ingest([message]);
  world.deps.prefix = null;
  expect(await dead()).toHaveLength(1);
  await world.ingest([{ ...message, receives: 2 }]);
  expect(await findSchedule(world.carillon.sql, "mended")).not.toBeNull();
  expect(await dead()).toEqual([]);
});
