import { afterEach, beforeEach, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { done } from "../../lib/target/delivery.ts";
import { minute } from "../support/instants.ts";
import { type Two, twoInstallations } from "./two-installations.ts";

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

test("jobs of a serial group never run in two installations at once, and none is lost", async () => {
  const group = { group: "acme:g", serial: true };
  for (const name of ["a", "b", "c"]) await two.old.put(`acme:${name}`, { when: "every 1m", ...group });
  await two.run();
  const start = two.old.clock.now().getTime();
  const begun = await two.begin("acme:");
  // One member is frozen with its whole group, however small the page is.
  const { ids } = await begun.source.freeze({ after: "", limit: 1 });
  expect(ids).toHaveLength(3);
  await two.advance(minute);
  await two.run();
  expect(two.old.delivered).toEqual([]);
  await begun.drive();
  await two.run();
  await two.advance(minute);
  await two.run();
  const expected = [1, 2].map((n) => new Date(start + n * minute).toISOString());
  for (const name of ["a", "b", "c"]) expect(two.ran(`acme:${name}`)).toEqual(expected);
});

test("a schedule goes on at the source if another prefix joins its serial group after it was stopped", async () => {
  const group = { group: "g", serial: true };
  await two.old.put("acme:a", { when: "every 1m", ...group });
  await two.run();
  const begun = await two.begin("acme:");
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  await two.old.put("evil:a", { when: "every 1h", ...group });
  expect(await begun.source.take(ids)).toMatchObject({ taken: 0 });
  const again = await begun.source.freeze({ after: "", limit: 10 });
  expect(again).toMatchObject({ ids: [], stuck: [{ key: "acme:a", why: "group" }] });
  await two.advance(minute);
  await two.run();
  expect(two.old.delivered.map(({ key }) => key)).toContain("acme:a");
});

// A put at the source looks for a move of its key alone.
test("a schedule that is made at the source for a serial group that has moved does not run beside it", async () => {
  const group = { group: "acme:g", serial: true };
  await two.old.put("acme:a", { when: "every 1m", ...group });
  await two.run();
  await (await two.begin("acme:")).drive();
  await two.old.put("acme:b", { when: "every 1m", ...group }).catch(() => {});
  await two.run();
  let running = 0;
  let most = 0;
  two.old.outcome = two.new.outcome = async () => {
    running += 1;
    most = Math.max(most, running);
    if (running === 1) await two.run();
    running -= 1;
    return done;
  };
  await two.advance(minute);
  await two.run();
  expect(most).toBe(1);
});

test("a schedule whose job is under way stays until the job has ended", async () => {
  await two.old.put("acme:a", { when: "every 1m", overlap: "skip" });
  await two.run();
  await two.advance(minute);
  const begun = await two.begin("acme:");
  let during: unknown;
  two.old.outcome = async () => {
    during ??= await begun.drive();
    return done;
  };
  await two.run();
  expect(during).toMatchObject({
    moved: 0,
    left: new Map([["acme:a", { id: expect.any(String), key: "acme:a", why: "running" }]]),
  });
  expect((await begun.drive()).moved).toBe(1);
  await two.advance(minute);
  await two.run();
  expect(two.ran("acme:a")).toHaveLength(2);
  expect(two.new.delivered).toHaveLength(1);
});

test("holds of others move with a schedule, and their ends release what they would have without a move", async () => {
  const body = { when: "every 1m", catchUp: { policy: "latest" } };
  for (const key of ["acme:held", "acme:until", "other:until"]) await two.old.put(key, body);
  await two.run();
  const until = new Date(two.old.clock.now().getTime() + 6.5 * minute);
  await two.old.pause("acme:held", { owner: "bob", reason: "stocktaking" });
  for (const key of ["acme:until", "other:until"]) await two.old.pause(key, { until });
  await two.advance(2 * minute);
  const begun = await two.begin("acme:");
  await begun.drive();
  expect(await readSchedule(two.new.sql, "acme:held")).toMatchObject({
    state: "paused",
    holds: [{ owner: "bob", reason: "stocktaking" }],
  });
  for (let n = 0; n < 14; n++) {
    await two.advance(minute / 2);
    await two.run();
  }
  expect(two.ran("acme:held")).toEqual([]);
  expect(two.ran("acme:until")).toHaveLength(6);
  expect(two.ran("acme:until")).toEqual(two.ran("other:until"));
});

test("a hold that ends while its schedule is on its way releases what it would have without a move", async () => {
  for (const key of ["acme:a", "other:a"])
    await two.old.put(key, { when: "every 1m", catchUp: { policy: "skip" } });
  await two.run();
  const until = new Date(two.old.clock.now().getTime() + 5.5 * minute);
  for (const key of ["acme:a", "other:a"]) await two.old.pause(key, { until });
  await two.advance(minute);
  const begun = await two.begin("acme:");
  await begun.source.take((await begun.source.freeze({ after: "", limit: 10 })).ids);
  for (let n = 0; n < 9; n++) {
    await two.advance(minute);
    await two.run();
  }
  expect(two.ran("acme:a")).toEqual([]);
  await begun.drive();
  await two.run();
  await two.advance(minute);
  await two.run();
  expect(two.ran("acme:a")).toHaveLength(8);
  expect(two.ran("acme:a")).toEqual(two.ran("other:a"));
});

test("a hold that ends by itself while its schedule is frozen, and that a tick removes, releases what it would have without a move", async () => {
  for (const key of ["acme:a", "other:a"])
    await two.old.put(key, { when: "every 1m", catchUp: { policy: "skip" } });
  await two.run();
  const until = new Date(two.old.clock.now().getTime() + 5.5 * minute);
  for (const key of ["acme:a", "other:a"]) await two.old.pause(key, { until });
  await two.advance(minute);
  const begun = await two.begin("acme:");
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  for (let n = 0; n < 9; n++) {
    await two.advance(minute);
    await two.run();
  }
  await begun.source.take(ids);
  await begun.drive();
  await two.run();
  expect(two.ran("other:a").length).toBeGreaterThan(4);
  expect(two.ran("acme:a")).toEqual(two.ran("other:a"));
});

test("a schedule arrives although one owner holds it both by itself and by its group", async () => {
  await two.old.put("acme:a", { when: "every 1m", group: "g", tags: ["t"] });
  const until = new Date(two.old.clock.now().getTime() + minute);
  await two.old.pause("acme:a", { owner: "bob", until, reason: "stocktaking" });
  const edits = { sql: two.old.as.api, queue: two.old.queue };
  const bob = { name: "bob", reach: { prefix: "", team: "" } };
  for (const [scope, name] of [["group", "g"] as const, ["tag", "t"] as const])
    await pauseLabel(edits, { label: { scope, name }, caller: bob, owner: "bob" });
  const begun = await two.begin("acme:");
  expect((await begun.drive()).moved).toBe(1);
  expect(await readSchedule(two.new.sql, "acme:a")).toMatchObject({
    state: "paused",
    holds: [{ owner: "bob", until: null, reason: "Hold of the group g. stocktaking Hold of the tag t." }],
  });
});

test("a hold that a person releases while its schedule is frozen ends there: later occurrences all run", async () => {
  for (const key of ["acme:a", "other:a"])
    await two.old.put(key, { when: "every 1m", catchUp: { policy: "skip" } });
  await two.run();
  for (const key of ["acme:a", "other:a"]) await two.old.pause(key);
  await two.advance(4 * minute);
  const begun = await two.begin("acme:");
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  await two.advance(4 * minute);
  for (const key of ["acme:a", "other:a"]) await two.old.resume(key);
  for (let n = 0; n < 4; n++) {
    await two.advance(minute);
    await two.run();
  }
  await begun.source.take(ids);
  await begun.drive();
  await two.run();
  expect(two.ran("acme:a").length).toBeGreaterThan(4);
  expect(two.ran("acme:a")).toEqual(two.ran("other:a"));
});
