import { afterAll, beforeAll, expect, test } from "vitest";
import { findSchedule } from "../../lib/schedule/stored/stored-schedule.ts";
import { second } from "../support/instants.ts";
import { type IngestWorld, ingestWorld } from "./ingest-world.ts";

/**
 * An uncertain sender sends a command again, with the same id, and perhaps with the time of the
 * repetition.
 */

let world: IngestWorld;

beforeAll(async () => {
  world = await ingestWorld();
});

afterAll(() => world.stop());

const ago = (ms: number) => new Date(world.carillon.clock.now().getTime() - ms).toISOString();
const put = (key: string, payload: unknown) => ({
  put: { key, when: "every 1h", target: { queue: "demo" }, payload },
});
const read = (key: string) => findSchedule(world.carillon.sql, key);

test("a patch that comes again with a later time does not undo the patch after it", async () => {
  const patch = { id: "patch", patch: { key: "patched", payload: "first" } };
  await world.command({ at: ago(10 * second), ...put("patched", "put") });
  await world.command({ at: ago(8 * second), ...patch });
  await world.command({ at: ago(5 * second), patch: { key: "patched", payload: "second" } });
  await world.command({ at: ago(0), ...patch });
  expect(await read("patched")).toMatchObject({ body: { payload: "second" } });
});

test("a delete that comes again with a later time does not delete the schedule that was put after it", async () => {
  const remove = { id: "delete", delete: "deleted" };
  await world.command({ at: ago(10 * second), ...put("deleted", 1) });
  await world.command({ at: ago(8 * second), ...remove });
  await world.command({ at: ago(5 * second), ...put("deleted", 2) });
  await world.command({ at: ago(0), ...remove });
  expect(await read("deleted")).toMatchObject({ body: { payload: 2 } });
});

test("a put that comes again with a later time does not undo a later edit by hand", async () => {
  const again = { id: "put", ...put("by-hand", 1) };
  await world.command({ at: ago(10 * second), ...again });
  await world.carillon.clock.advance(second);
  await world.carillon.patch("by-hand", { payload: "by hand" });
  await world.carillon.clock.advance(second);
  await world.command({ at: ago(0), ...again });
  expect(await read("by-hand")).toMatchObject({ body: { payload: "by hand" } });
});

test("a pause that comes again with a later time does not hold a schedule that was resumed by hand since", async () => {
  const pause = { id: "pause", pause: "resumed" };
  await world.command({ at: ago(10 * second), ...put("resumed", 1) });
  await world.command({ at: ago(8 * second), ...pause });
  await world.carillon.clock.advance(second);
  await world.carillon.resume("resumed", "queue:ingest");
  await world.carillon.clock.advance(second);
  await world.command({ at: ago(0), ...pause });
  expect(await read("resumed")).toMatchObject({ heldSince: null });
});

test("a pause that comes late does not undo a later resume of its owner", async () => {
  // Otherwise the order in which SQS delivers two messages decides whether a schedule runs.
  await world.command({ at: ago(10 * second), ...put("late-pause", 1) });
  await world.command({ at: ago(5 * second), resume: "late-pause" });
  await world.command({ at: ago(8 * second), pause: "late-pause" });
  expect(await read("late-pause")).toMatchObject({ heldSince: null });
});
