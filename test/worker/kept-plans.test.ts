import { afterEach, beforeEach, expect, test } from "vitest";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { failed } from "../../lib/target/delivery.ts";
import { claimedBeforeOthers, due, dueOnce, workerOf } from "../parcel/limit-world.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

/**
 * A statement without a cached plan costs one more round trip, and is parsed and planned for each
 * parcel.
 */

let world: Carillon;
/** The statements that the worker has sent, and whether each has a cached plan. */
let sent: { text: string; isKept: boolean }[];

beforeEach(async () => {
  world = await carillon();
  sent = [];
  world.as.worker = connectThrough(world.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      line.run(statement);
      sent.push({ text: textOf(statement), isKept: statement.options.prepare === true });
    },
  }));
});

afterEach(() => world.stop());

const planned = () => sent.filter(({ isKept }) => !isKept).map(({ text }) => text);
const sentOf = (name: string) => sent.filter(({ text }) => text.includes(`carillon.${name}(`)).length;

test("a worker of quick deliveries caches the plan of each statement", async () => {
  for (const name of ["a", "b"]) await dueOnce(world, name, 1, { target: { queue: "demo" } });
  await world.tick();
  await world.clock.setNow(due);
  await world.work();
  expect(world.delivered).toHaveLength(2);
  expect(sentOf("claim_parcels")).toBeGreaterThan(0);
  expect(planned()).toEqual([]);
});

test("a worker of handlers caches the plan of each statement, also if it takes parcels along", async () => {
  const freed = await workerOf(world).settle(await claimedBeforeOthers(world, 4));
  await world.clock.setNow(at(minute + second));
  await handOver(
    world.sql,
    world.queue,
    freed.map((id) => ({ id, queue: "slow" as const, waitMs: 0 })),
  );
  world.window = 1;
  await world.work();
  expect(world.delivered).toHaveLength(30);
  expect(Math.min(sentOf("claim_parcel"), sentOf("claim_company"))).toBeGreaterThan(0);
  expect(planned()).toEqual([]);
});

test("a worker whose job fails caches the plan of the settle", async () => {
  await dueOnce(world, "a", 1, { target: { queue: "demo" } });
  await world.tick();
  await world.clock.setNow(due);
  world.outcome = () => failed("boom");
  await world.work();
  expect(sentOf("settle_parcel")).toBe(1);
  expect(planned()).toEqual([]);
});
