import { afterEach, beforeEach, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { parcelEvents } from "../../lib/lifecycle/parcel-events.ts";
import { second } from "../support/instants.ts";
import { type BusWorld, busWorld } from "./bus-world.ts";

const notify = ["started", "succeeded"] as const;

let world: BusWorld;

beforeEach(async () => {
  world = await busWorld({ notify });
});

afterEach(async () => {
  await world.stop();
});

test("a worker that cannot write its events still works and settles its jobs", async () => {
  // Otherwise jobs stop, or run again and again, because their events cannot be written.
  const { bus, log } = world;
  const gone = connect({ DATABASE_URL: world.databaseUrl });
  await gone.end();
  const events = parcelEvents({ sql: gone, events: bus.client, bus: "default", log }, notify);
  world.more.worker = { notify, events };
  await world.put("once", { when: "in 1s" });
  await world.tick();
  await world.clock.advance(second);
  expect(await world.work()).toEqual([]);
  expect(await world.jobs("once")).toMatchObject([{ state: "succeeded", attempt: 1 }]);
  const lines = log.lines.map(({ event }) => event).filter((event) => event === "lifecycle.left");
  expect(lines).toHaveLength(2);
});
