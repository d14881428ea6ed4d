import { afterEach, beforeEach, expect, test } from "vitest";
import { idle } from "../../infra/tools/cost/idle-month.ts";
import type { Measured } from "../../lib/log/metrics.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { failed } from "../../lib/target/delivery.ts";
import { measureTick } from "../../lib/tick/housekeeping/measure.ts";
import { type BeatWorld, beatWorld } from "../pulse/beat-world.ts";
import { at, minute, second } from "../support/instants.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
});

afterEach(() => world.stop());

/** Runs a tick, and returns its line of metrics. */
async function measuredTick(): Promise<Measured> {
  const written: Measured[] = [];
  const { rolledUp } = await world.tick();
  const metrics = { write: (measured: Measured) => void written.push(measured) };
  await measureTick({ sql: world.sql, log: world.log, metrics }, { rolledUp, ms: 1 });
  const [line, ...more] = written;
  if (line === undefined || more.length > 0) throw new Error(`There are ${written.length} lines.`);
  return line;
}

test("A tick always writes as many metrics as the price of an idle month counts", async () => {
  expect(Object.keys(await measuredTick())).toHaveLength(idle.tickMetrics);
});

test("A tick writes the number of rows in quarantine", async () => {
  expect(await measuredTick()).toMatchObject({ Quarantined: 0 });
  await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  expect(await measuredTick()).toMatchObject({ Quarantined: 1 });
});

test("Pulses that were given up are counted by the next tick, once, and not while they are retried", async () => {
  await world.storeMany(3, { every: 600, offset: 20, queue: "gone" });
  await world.storeMany(2, { every: 600, offset: 20, queue: "never", first: 100 });
  expect(await measuredTick()).toMatchObject({ PulsesLost: 0, PulseSecondsPassed: 0 });
  await world.clock.setNow(at(20 * second));
  world.fate = (queue) => failed("no", queue === "never");
  await world.work();
  expect(await measuredTick()).toMatchObject({ PulsesLost: 2, PulseSecondsPassed: 0 });
  const told: unknown[] = [];
  for (let tries = 2; tries <= 7; tries++) {
    await world.clock.advance(90 * second);
    await world.work();
    const { PulsesLost, PulseSecondsPassed } = await measuredTick();
    told.push([PulsesLost, PulseSecondsPassed]);
  }
  expect(told).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 0],
    [3, 0],
    [0, 0],
  ]);
});

test("Pulse seconds that were missed in an outage are counted once, by the first tick after it", async () => {
  await world.store([{ id: 1, every: 10 }]);
  await world.tick();
  await world.sql`delete from carillon.parcels`;
  await world.clock.setNow(at(20 * minute));
  // The missed seconds are those from the 181st to the one two minutes ago.
  expect(await measuredTick()).toMatchObject({ PulsesLost: 0, PulseSecondsPassed: 18 * 60 - 181 });
  expect(await measuredTick()).toMatchObject({ PulseSecondsPassed: 0 });
});

test("A second of pulses for which no worker came in time is counted as passed", async () => {
  await world.store([{ id: 1, every: 600, offset: 20 }]);
  await world.tick();
  await world.clock.setNow(at(20 * second + 2 * minute + 1));
  await world.work();
  expect(await measuredTick()).toMatchObject({ PulsesLost: 0, PulseSecondsPassed: 1 });
});

test("A second of pulses at which every worker dies is counted as passed, once it is given up", async () => {
  await world.store([{ id: 1, every: 600, offset: 20 }]);
  await world.tick();
  await world.clock.setNow(at(20 * second));
  world.fate = () => "dies";
  let told = 0;
  for (let deaths = 0; (await world.work()).length > 0; deaths++) {
    expect(told, `after ${deaths} deaths`).toBe(0);
    await world.clock.advance(70 * second);
    told = Number((await measuredTick()).PulseSecondsPassed);
  }
  expect(told).toBe(1);
});
