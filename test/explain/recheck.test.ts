import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { type DeadReason, type Delivery, failed } from "../../lib/target/delivery.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "../history/recheck-world.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

const told = (key: string, instant: number) => explain(world.sql, { key, at: at(instant) });
const sentenceOf = async (key: string, instant: number) => (await told(key, instant)).sentence;

const ran = (time: string) =>
  `Ran, on time: due at 2026-03-02T${time}Z, it started at 2026-03-02T${time}Z and succeeded at 2026-03-02T${time}Z.`;

test("A recheck is explained with its run, its number and the rechecks that followed", async () => {
  await world.checkedTwice("order");
  expect(await told("order", minute)).toMatchObject({ outcome: "ran", occurrence: true });
  expect(await sentenceOf("order", minute)).toBe(
    `${ran("10:01:00")} It requested a recheck, and 2 followed: the last, recheck 2, at 2026-03-02T12:00:00Z, waits.`,
  );
  expect(await told("order", hour)).toMatchObject({
    outcome: "ran",
    occurrence: false,
    dueAt: at(hour),
    recheck: { of: `1-${at(minute).getTime()}-c0`, number: 1, followed: 1 },
    beside: [{ kind: "again", checks: 1 }],
  });
  expect(await sentenceOf("order", hour)).toBe(
    `Is no occurrence but recheck 1 of the run of 2026-03-02T10:01:00Z. ${ran("11:00:00")}` +
      " It requested a recheck: recheck 2, at 2026-03-02T12:00:00Z, waits.",
  );
  expect(await told("order", 2 * hour)).toMatchObject({
    outcome: "planned",
    sentence:
      "Is no occurrence but recheck 2 of the run of 2026-03-02T10:01:00Z. Is planned: its job is made, and starts at 2026-03-02T12:00:00Z.",
  });
  await world.pause("order");
  expect(await told("order", 2 * hour)).toMatchObject({ outcome: "held", heldBy: [{ owner: "ann" }] });
  expect(await told("order", 2 * hour + second)).toMatchObject({ outcome: "not-an-occurrence" });
});

test("A recheck that an edit cancelled names the edit", async () => {
  await world.checkedTwice("order");
  await world.put("order", { when: "in 5h", ...handler }, "bob");
  await world.clock.advance(hour);
  await world.patch("order", { tags: ["late"] }, "eve");
  expect(await told("order", 2 * hour)).toMatchObject({
    outcome: "cancelled",
    reason: "superseded",
    recheck: { number: 2, followed: 0 },
    sentence:
      "Is no occurrence but recheck 2 of the run of 2026-03-02T10:01:00Z. Was cancelled: the schedule was edited by token `bob` (version 2) at 2026-03-02T11:00:00Z, before it was due.",
  });
});

test("A run says that the recheck which it requested was dropped because of an edit during the run", async () => {
  world.outcome = async () => {
    await world.put("order", { when: "in 5h", ...handler });
    return again(hour);
  };
  await world.put("order", { when: "in 1m", ...handler });
  await world.workAt(minute);
  expect(await sentenceOf("order", minute)).toBe(
    `${ran("10:01:00")} It requested a recheck, which was dropped because the schedule was edited or deleted before the run ended.`,
  );
});

test("A recheck of a deleted schedule names the delete", async () => {
  await world.checkedTwice("order");
  await world.remove("order");
  expect(await told("order", 2 * hour)).toMatchObject({ outcome: "cancelled", reason: "deleted" });
  expect(await sentenceOf("order", 2 * hour)).toMatch(
    /Was cancelled: the schedule was deleted at 2026-03-02T11:00:00Z by token `ann`/,
  );
});

const refused: [DeadReason, string][] = [
  ["max-checks", "it requested one recheck more than its handler allows"],
  ["recheck-past", "it requested a recheck at an instant that was not in the future"],
  ["recheck-far", "it requested a recheck further ahead than its handler allows"],
];
test.each(refused)("A recheck that died of %s says so", async (reason, words) => {
  const dead: Delivery = { ...failed("Too much.", true), reason };
  world.answers.set("order", [again(hour), dead]);
  await world.put("order", { when: "in 1m", ...handler });
  await world.workAt(minute);
  await world.workAt(hour);
  const verdict = await told("order", hour);
  expect(verdict).toMatchObject({ outcome: "dead", reason, recheck: { number: 1 } });
  expect(verdict.sentence).toContain(`is dead since 2026-03-02T11:00:00Z: ${words} ("Too much.").`);
  expect(await world.read("order")).toMatchObject({
    state: "ended",
    checks: 1,
    lastJob: { state: "dead", reason },
  });
});

test("A recheck on the instant of an occurrence is mentioned with the occurrence", async () => {
  world.answers.set("hourly", [again(2 * hour)]);
  await world.put("hourly", { when: "every 1h", ...handler });
  await world.workAt(hour);
  expect(await told("hourly", 2 * hour)).toMatchObject({ outcome: "planned", occurrence: true });
  expect(await sentenceOf("hourly", 2 * hour)).toMatch(
    / At the same instant, recheck 1 of the run of 2026-03-02T11:00:00Z waits\.$/,
  );
  await world.workAt(2 * hour);
  expect(await told("hourly", 2 * hour)).toMatchObject({ outcome: "ran", job: { kind: "cadence" } });
  expect(await sentenceOf("hourly", 2 * hour)).toMatch(
    / At the same instant, recheck 1 of the run of 2026-03-02T11:00:00Z has succeeded\.$/,
  );
});

test("A chain of rechecks is kept apart from other chains", async () => {
  world.answers.set(
    "often",
    Array.from({ length: 5 }, () => again(day)),
  );
  await world.put("often", { when: "every 1h", ...handler });
  for (let run = 1; run <= 5; run++) await world.workAt(run * hour);
  expect(await sentenceOf("often", 3 * hour)).toMatch(
    /It requested a recheck: recheck 1, at 2026-03-03T10:00:00Z, waits\.$/,
  );
});
