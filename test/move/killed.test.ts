import { expect, test } from "vitest";
import { type Fuse, fuse, Killed, type Moment } from "../crash/fuse.ts";
import { connectThrough } from "../race/lines.ts";
import { minute } from "../support/instants.ts";
import { seedOfRun } from "../support/seed.ts";
import { type Two, twoInstallations } from "./two-installations.ts";

/** One of so many moments is tried in one run; the seed chooses which. */
const everyNth = { before: 6, after: 2 };

test(`a driver that is killed at any statement of either installation leaves nothing lost or doubled for the next driver (seed ${seedOfRun})`, async () => {
  const two = await twoInstallations();
  await two.run();
  const whole = fuse();
  await putAll(two, "p:");
  await driveBy(two, "p:", whole);
  const moments = momentsOf(whole);
  expect(moments.length).toBeGreaterThan(20);
  const start = two.old.clock.now().getTime();
  for (const [index, moment] of moments.entries()) {
    const prefix = `p${index}:`;
    await putAll(two, prefix);
    await driveBy(two, prefix, fuse(moment)).catch((error: unknown) => {
      if (!(error instanceof Killed)) throw error;
    });
    const next = await two.begin(prefix);
    const { left } = await next.drive();
    expect([moment, [...left]]).toEqual([moment, []]);
    await next.finish();
  }
  for (let n = 0; n < 3; n++) {
    await two.advance(minute);
    await two.run();
  }
  const expected = [1, 2, 3].map((n) => new Date(start + n * minute).toISOString());
  for (const [index, moment] of moments.entries())
    for (const name of names)
      expect([moment, name, two.ran(`p${index}:${name}`)]).toEqual([moment, name, expected]);
  expect(new Set(two.old.delivered.map(({ key }) => key))).toEqual(new Set());
  await two.stop();
}, 300_000);

const names = ["a", "b", "c"];

/** Schedules with a hold, a lane and a job that waits: they need every kind of step. */
async function putAll(two: Two, prefix: string): Promise<void> {
  const group = { group: `${prefix}g`, serial: true };
  for (const name of names)
    await two.old.put(`${prefix}${name}`, { when: "every 1m", ...(name === "a" ? {} : group) });
}

/** A driver in a process of its own, whose connections end with it. */
async function driveBy(two: Two, prefix: string, { process }: Fuse): Promise<void> {
  const driver = process();
  driver.begin("driver");
  const connected = {
    old: connectThrough(two.old.databaseUrl, driver.wrap),
    new: connectThrough(two.new.databaseUrl, driver.wrap),
  };
  try {
    const begun = await two.begin(prefix, { connected });
    await begun.drive();
    await begun.finish();
  } finally {
    await driver.closed();
    await Promise.all([connected.old.end(), connected.new.end()]);
  }
}

function momentsOf({ operations }: Fuse): Moment[] {
  const some = (side: Moment["side"], of: Fuse["operations"]) =>
    of
      .filter((_, index) => index % everyNth[side] === seedOfRun % everyNth[side])
      .map((each): Moment => ({ ...each, side }));
  return [
    ...some("before", operations),
    ...some(
      "after",
      operations.filter(({ lasts }) => lasts),
    ),
  ];
}
