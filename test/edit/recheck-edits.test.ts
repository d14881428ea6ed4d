import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyEditsInside } from "../../lib/batch/edits-inside.ts";
import { restoreVersion } from "../../lib/edit/restore.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { again, handler, type RecheckWorld, recheckWorld } from "../history/recheck-world.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";

let world: RecheckWorld;

beforeEach(async () => {
  world = await recheckWorld();
});

afterEach(() => world.stop());

describe("an edit while a recheck waits or runs", () => {
  const cases: [string, object][] = [
    ["another time", { when: "in 3d", ...handler }],
    ["the same relative time, which counts again", { when: "in 1m", ...handler }],
    ["another target", { when: "in 1m", target: { queue: "demo" } }],
    ["another payload", { when: "in 1m", ...handler, payload: { order: 2 } }],
  ];
  test.each(cases)("an edit with %s cancels the waiting recheck", async (_, body) => {
    await world.checkedTwice("order");
    await world.put("order", body);
    expect(await world.read("order")).toMatchObject({ state: "active", checks: 0 });
    expect((await world.history("order")).filter(({ kind }) => kind === "again")).toMatchObject([
      { checks: 2, state: "cancelled", reason: "superseded" },
      { checks: 1, state: "succeeded" },
    ]);
    const [left] = await world.sql`select from carillon.parcels where 'again' = any(kinds)`;
    expect(left).toBeUndefined();
    await world.workAt(2 * hour);
    expect(world.delivered.filter(({ occurrence }) => occurrence === at(2 * hour).toISOString())).toEqual([]);
  });

  test("an edit that keeps time, target and payload keeps the recheck", async () => {
    await world.checkedTwice("order");
    await world.patch("order", {
      tags: ["late"],
      description: "Watched.",
      retry: { attempts: 3 },
      timeout: "5s",
    });
    expect(await world.read("order")).toMatchObject({ state: "active", checks: 2, nextAt: at(2 * hour) });
    await world.workAt(2 * hour);
    expect(await world.read("order")).toMatchObject({
      state: "ended",
      lastJob: { checks: 2, state: "succeeded" },
    });
  });

  test("a restore cancels the rechecks if it changes time, target or payload, as any edit does", async () => {
    world.answers.set("order", [again(2 * hour)]);
    await world.put("order", { when: "every 1h", ...handler, payload: 1 });
    await world.put("order", { when: "every 1h", ...handler, payload: 2 });
    await world.patch("order", { tags: ["late"] });
    await world.workAt(hour);
    const restore = (version: number) =>
      restoreVersion(
        { sql: world.sql, queue: world.queue },
        { key: "order", version, caller: { name: "ann" } },
        () => {},
      );
    await restore(2);
    expect(await world.read("order")).toMatchObject({ checks: 1 });
    await restore(1);
    expect(await world.read("order")).toMatchObject({ checks: 0 });
  });

  test("an edit drops the further recheck that a running recheck requests", async () => {
    await world.checkedTwice("order");
    world.outcome = async () => {
      await world.put("order", { when: "in 5h", ...handler });
      return again(3 * hour);
    };
    await world.workAt(2 * hour);
    expect(await world.history("order")).toMatchObject([
      { kind: "again", checks: 2, state: "succeeded", reason: "superseded" },
      { kind: "again", checks: 1 },
      { kind: "cadence" },
    ]);
    expect(await world.read("order")).toMatchObject({ checks: 0, nextAt: at(7 * hour) });
  });

  test("an edit prevents the retry of a running recheck that fails", async () => {
    await world.checkedTwice("order");
    world.outcome = async () => {
      await world.put("order", { when: "in 5h", ...handler });
      return failed("The shop does not answer.");
    };
    await world.workAt(2 * hour);
    expect((await world.history("order")).at(0)).toMatchObject({
      checks: 2,
      state: "cancelled",
      reason: "superseded",
    });
    const before = world.delivered.length;
    world.outcome = () => done;
    await world.workAt(2 * hour + 10 * minute);
    expect(world.delivered.length).toBe(before);
    const [job] =
      await world.sql`select state, reason from carillon.jobs where kind = 'again' and checks = 2`;
    expect(job).toEqual({ state: "cancelled", reason: "superseded" });
  });

  test("an edit prevents the retry of a recheck whose worker died", async () => {
    await world.checkedTwice("order");
    await world.clock.setNow(at(2 * hour));
    const [, , recheck] = await world.jobs("order");
    await claimParcel(world.sql, recheck?.parcelId ?? "", 30 * second);
    await world.put("order", { when: "in 5h", ...handler });
    const before = world.delivered.length;
    await world.workAt(2 * hour + minute);
    await world.workAt(2 * hour + 2 * minute);
    expect(world.delivered.length).toBe(before);
    expect((await world.history("order")).at(0)).toMatchObject({
      checks: 2,
      state: "cancelled",
      reason: "superseded",
    });
  });

  test("an edit leaves a recheck whose lease has ended to the transaction that ends the lease", async () => {
    await world.checkedTwice("order");
    await world.clock.setNow(at(2 * hour));
    const [, , recheck] = await world.jobs("order");
    const parcel = recheck?.parcelId ?? "";
    await claimParcel(world.sql, parcel, 30 * second);
    await world.clock.advance(minute);
    let ended: Promise<unknown> | undefined;
    await world.sql.begin(async (tx) => {
      await applyEditsInside(tx, [{ kind: "cancel", key: "order" }], {
        author: "ann",
        parcelId: "0",
        schedules: [],
      });
      ended = endLease(world, parcel, []);
      await Promise.race([
        ended,
        until("it waits", async () => {
          const blocked =
            await world.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
          return blocked.length > 0;
        }),
      ]);
    });
    await ended;
    await world.workAt(2 * hour + 2 * minute);
    const [job] =
      await world.sql`select state, reason, ready_at from carillon.jobs where kind = 'again' and checks = 2`;
    expect(job).toEqual({ state: "cancelled", reason: "deleted", ready_at: null });
  });

  test("an edit that cancels a recheck leaves its granted turn to the next claim, which passes the turn on", async () => {
    await world.checkedTwice("order");
    await world.sql`
      update carillon.parcels p set turn = 'granted', slots = 1
      from carillon.jobs j where j.parcel_id = p.id and j.kind = 'again'`;
    await world.put("order", { when: "in 3d", ...handler });
    expect((await world.history("order")).at(0)).toMatchObject({ state: "cancelled" });
    expect(await world.sql`select turn from carillon.parcels where 'again' = any(kinds)`).toEqual([
      { turn: "granted" },
    ]);
  });

  test("a delete cancels the rechecks of the schedule at once, also those weeks ahead", async () => {
    world.answers.set("order", [again(20 * day)]);
    await world.put("order", { when: "in 1m", ...handler });
    await world.workAt(minute);
    await world.remove("order");
    const [, recheck] = await world.jobs("order");
    expect(recheck).toMatchObject({
      occurrence: at(20 * day),
      state: "cancelled",
      reason: "deleted",
      finishedAt: at(minute),
    });
    const [left] = await world.sql`select from carillon.parcels`;
    expect(left).toBeUndefined();
  });
});
