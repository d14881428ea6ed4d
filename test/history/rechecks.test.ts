import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listSchedules } from "../../lib/history/search-schedules.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { settleInside } from "../../lib/parcel/settle-inside.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { dropPastDays } from "../support/drop-past-days.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "./recheck-world.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

describe("a schedule with rechecks", () => {
  test("A schedule with rechecks shows their number and the next one, until one is the last", async () => {
    world.answers.set("order", [again(hour), again(2 * hour)]);
    await world.put("order", { when: "in 1m", ...handler });
    expect(await world.read("order")).toMatchObject({ state: "active", checks: 0, nextAt: at(minute) });
    await world.workAt(minute);
    expect(await world.read("order")).toMatchObject({
      state: "active",
      checks: 1,
      nextAt: at(hour),
      lastJob: { kind: "cadence", state: "succeeded" },
    });
    await world.workAt(hour);
    expect(await world.read("order")).toMatchObject({
      state: "active",
      checks: 2,
      nextAt: at(2 * hour),
      lastJob: { kind: "again", checks: 1 },
    });
    await world.workAt(2 * hour);
    expect(await world.read("order")).toMatchObject({
      state: "ended",
      checks: 2,
      nextAt: null,
      lastJob: { checks: 2 },
    });
    expect(await world.history("order")).toEqual([
      { kind: "again", checks: 2, state: "succeeded", reason: null, at: at(2 * hour) },
      { kind: "again", checks: 1, state: "succeeded", reason: null, at: at(hour) },
      { kind: "cadence", checks: 0, state: "succeeded", reason: null, at: at(minute) },
    ]);
  });

  test("A schedule has not ended while a recheck runs or waits for a retry", async () => {
    world.answers.set("order", [again(hour), failed("The shop does not answer.")]);
    await world.put("order", { when: "in 1m", ...handler });
    await world.workAt(minute);
    await world.clock.setNow(at(hour));
    const [, recheck] = await world.jobs("order");
    const claimed = await claimParcel(world.sql, recheck?.parcelId ?? "", minute);
    expect(await world.read("order")).toMatchObject({
      state: "active",
      nextAt: null,
      lastJob: { state: "running" },
    });
    if (claimed.outcome !== "claimed") throw new Error(claimed.outcome);
    await settleParcel(world.sql, claimed, [{ kind: "retry", afterMs: minute, error: "No answer." }]);
    expect(await world.read("order")).toMatchObject({
      state: "active",
      nextAt: null,
      lastJob: { state: "retrying" },
    });
    expect((await listSchedules(world.sql, { limit: 10, state: "ended" })).items).toEqual([]);
    await world.workAt(hour + minute);
    await world.workAt(hour + 2 * minute);
    expect(await world.read("order")).toMatchObject({
      state: "ended",
      lastJob: { state: "succeeded", attempt: 3 },
    });
  });

  test("A schedule with rechecks shows the same in a list as alone", async () => {
    await world.checkedTwice("order");
    await world.put("other", { when: "every 1h", ...handler });
    const { items } = await listSchedules(world.sql, { limit: 10 });
    expect(items).toMatchObject([
      { key: "order", state: "active", checks: 2, nextAt: at(2 * hour) },
      { key: "other", state: "active", checks: 0 },
    ]);
  });

  test("Each run of a cadence has its own chain of rechecks, and the schedule shows the newest chain", async () => {
    world.answers.set("hourly", [again(3 * hour + minute), done]);
    await world.put("hourly", { when: "every 1h", ...handler });
    await world.workAt(hour);
    expect(await world.read("hourly")).toMatchObject({ checks: 1, nextAt: at(2 * hour) });
    await world.workAt(2 * hour);
    expect(await world.read("hourly")).toMatchObject({ checks: 0, nextAt: at(3 * hour) });
    world.answers.set("hourly", [again(3 * hour + 30 * second), again(3 * hour + 2 * minute)]);
    await world.workAt(3 * hour);
    expect(await world.read("hourly")).toMatchObject({ checks: 1, nextAt: at(3 * hour + 30 * second) });
    await world.workAt(3 * hour + 30 * second);
    expect(await world.read("hourly")).toMatchObject({ checks: 2, nextAt: at(3 * hour + minute) });
    await world.workAt(3 * hour + minute);
    expect((await world.history("hourly")).filter(({ kind }) => kind === "again")).toMatchObject([
      { checks: 2, state: "waiting" },
      { checks: 1, state: "succeeded", at: at(3 * hour + minute) },
      { checks: 1, state: "succeeded", at: at(3 * hour + 30 * second) },
    ]);
  });

  test("Two rechecks of one instant are both kept, in either order of their requests", async () => {
    const both = [again(day), again(day)];
    world.answers.set("often", both);
    await world.put("often", { when: "every 1m", ...handler });
    await world.workAt(minute);
    await world.workAt(2 * minute);
    const rechecks = await world.sql<{ n: number; of: Date }[]>`
      select n, root_occurrence as of from carillon.jobs where kind = 'again' order by n`;
    expect([...rechecks]).toEqual([
      { n: 0, of: at(minute) },
      { n: 1, of: at(2 * minute) },
    ]);
  });

  test("Two runs that end at the same moment and request the same instant both get their recheck", async () => {
    await world.put("often", { when: "every 1m", ...handler });
    await world.clock.setNow(at(2 * minute));
    await world.tick();
    const [first, second_] = (await world.jobs("often")).map(({ parcelId }) => parcelId ?? "");
    const claims = [
      await claimParcel(world.sql, first ?? "", minute),
      await claimParcel(world.sql, second_ ?? "", minute),
    ];
    const [one, other] = claims.map((claim) => {
      if (claim.outcome !== "claimed") throw new Error(claim.outcome);
      return claim;
    });
    const [job] = one?.jobs ?? [];
    if (one === undefined || other === undefined || job === undefined)
      throw new Error("Nothing was claimed.");
    const asked = { kind: "again", at: at(day) } as const;
    await world.sql`select carillon.attach_missing_days(array[${at(day)}::timestamptz])`;
    const settling = await world.sql.begin(async (tx) => {
      expect((await settleInside(tx, one, job, asked, { notify: [], startedMs: 0 })).held).toBe(true);
      const later = settleParcel(world.sql, other, [asked]);
      await until(
        "the second waits for the first",
        async () =>
          (
            await world.sql`select from pg_stat_activity where wait_event = 'transactionid' and datname = current_database()`
          ).length === 1,
      );
      return { later };
    });
    expect(await settling.later).toMatchObject({ held: true, outgoing: [expect.anything()] });
    expect((await world.history("often")).filter(({ kind }) => kind === "again")).toMatchObject([
      { at: at(day) },
      { at: at(day) },
    ]);
  });

  test("A recheck of a run fired by hand has the payload of that run", async () => {
    await world.put("order", { when: "every 1h", ...handler, payload: { from: "schedule" } });
    world.answers.set("order", [again(10 * minute)]);
    await fireNow(
      { sql: world.sql, queue: world.queue },
      { key: "order", payload: { from: "ann" }, caller: { name: "ann" } },
    );
    await world.work();
    await world.workAt(10 * minute);
    expect(world.delivered.map(({ payload }) => payload)).toEqual([{ from: "ann" }, { from: "ann" }]);
  });
});

describe("a pause", () => {
  test("A pause holds a recheck back until it ends", async () => {
    await world.checkedTwice("order");
    await world.pause("order");
    expect(await world.read("order")).toMatchObject({ state: "paused", checks: 2, nextAt: null });
    await world.workAt(2 * hour);
    await world.workAt(5 * hour);
    expect(world.delivered).toHaveLength(2);
    await world.resume("order");
    await world.work();
    expect(world.delivered).toHaveLength(3);
    expect(await world.read("order")).toMatchObject({ state: "ended", checks: 2 });
  });

  test("An edit ends a recheck that a pause holds back", async () => {
    await world.checkedTwice("order");
    await world.pause("order");
    await world.workAt(2 * hour);
    await world.put("order", { when: "in 1h", ...handler });
    const [left] = await world.sql`select from carillon.parcels where held_schedule is not null`;
    expect(left).toBeUndefined();
    await world.resume("order");
    await world.work();
    expect(world.delivered).toHaveLength(2);
  });
});

test("A recheck still waits after the days before it were dropped, and the schedule ends with its run", async () => {
  world.answers.set("order", [again(29 * day)]);
  await world.put("order", { when: "in 1m", ...handler });
  await world.workAt(minute);
  for (let today = 1; today <= 28; today++) await world.workAt(today * day);
  await dropPastDays(world, 3);
  expect(await world.read("order")).toMatchObject({ state: "active", checks: 1, nextAt: at(29 * day) });
  await world.workAt(29 * day);
  expect(await world.read("order")).toMatchObject({ state: "ended", checks: 1 });
});
