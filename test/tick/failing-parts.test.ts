import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

let world: Carillon;
let breaking: Sql | undefined;

beforeEach(async () => {
  world = await carillon();
});

afterEach(async () => {
  await breaking?.end();
  breaking = undefined;
  await world.stop();
});

/** A tick in which every statement with this text fails. */
function tickWithout(text: string): Promise<unknown> {
  breaking = connectThrough(
    world.databaseUrl,
    (line) => ({
      ...line,
      run: (statement) =>
        textOf(statement).includes(text)
          ? statement.reject(new Error(`${text} is broken`))
          : line.run(statement),
    }),
    { max: 3 },
  );
  world.as.tick = breaking;
  return world.tick();
}

test.each([
  ["pulses are made", "carillon.make_pulse_parcels("],
  ["parcels of a target with a rate are spread", "carillon.spread_parcels("],
  ["idle shards are passed together", "standing as materialized"],
  ["the backlog is admitted", "from carillon.backlog"],
  ["ended schedules are deleted", "end_look_at <="],
])("A failure while %s stops no other part of the tick, and the tick fails at its end", async (_, text) => {
  await world.put("beats", { when: "every 10s", delivery: "pulse", target: { queue: "demo" } });
  const caller = { name: "ann" };
  const limits = { concurrency: null, rate: { count: 1, perMs: second } };
  await world.put("rated", { when: "every 1m", target: { queue: "rated" } });
  await setLimits(world, { target: "queue/rated", limits, caller });
  await world.put("over", { when: "in 1s", deleteOnEnd: true });
  await world.put("owes", { when: "every 1m", catchUp: { policy: "all" } });
  await world.tick();
  await world.clock.advance(10 * minute);
  // A parcel whose message was lost: the sweep offers it again, late in each tick.
  await world.sql`update carillon.parcels set offer_at = carillon.clock() where pulse_at is null`;
  world.queue.messages = [];

  await expect(tickWithout(text)).rejects.toThrow(`${text} is broken`);
  expect((await world.jobs("owes")).length).toBeGreaterThan(0);
  expect(world.queue.messages.length).toBeGreaterThan(0);
  expect(await world.sql`select distinct rolled_up_at as at from carillon.schedule_counts`).toEqual([
    { at: world.clock.now() },
  ]);
});
