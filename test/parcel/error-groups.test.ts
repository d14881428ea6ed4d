import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readJob } from "../../lib/job/read-job.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { endLease } from "../../lib/parcel/end-lease.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { done, failed, thrown } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute, second } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

interface Attempted {
  key: string;
  attempt: number;
  group: string | null;
}

const attempted = () => world.sql<Attempted[]>`
  select s.key, a.attempt, a.error_group as "group" from carillon.attempts a join carillon.schedules s on s.id = a.schedule_id
  order by s.key, a.attempt`;

const dead = () => world.sql<{ key: string; reason: string | null; group: string | null }[]>`
  select s.key, d.reason, d.error_group as "group" from carillon.dead_jobs d join carillon.schedules s on s.id = d.schedule_id order by s.key`;

const groups = () => world.sql<{ id: string; target: string; class: string | null; error: string }[]>`
  select id, target, class, error from carillon.error_groups order by target, class, error`;

describe("the error group of a failed attempt", () => {
  test("failures of one target with the same error but for ids are one group, which is noted once", async () => {
    await oneParcel(world, 3, { retry: { attempts: 1 } });
    world.outcome = ({ key }) => failed(`Order ${key.slice(4)}1 not found`);
    await world.work();
    const [group] = await groups();
    expect(await groups()).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{12}$/),
        target: "queue/demo",
        class: null,
        error: "Order <n> not found",
      },
    ]);
    expect((await attempted()).map((row) => row.group)).toEqual([group?.id, group?.id, group?.id]);
    expect(await dead()).toEqual(
      [0, 1, 2].map((n) => ({ key: `job-${n}`, reason: "attempts", group: group?.id })),
    );
  });

  test("another target, class or text of the error is another group", async () => {
    for (const [key, queue] of [
      ["a", "demo"],
      ["b", "demo"],
      ["c", "demo"],
      ["d", "other"],
    ] as const)
      await world.put(key, { when: "in 1s", target: { queue }, retry: { attempts: 1 } });
    const errors: Record<string, Error> = {
      a: new Error("no"),
      b: new TypeError("no"),
      c: new Error("never"),
      d: new Error("no"),
    };
    world.outcome = ({ key }) => thrown(errors[key] ?? new Error("?"), true);
    await world.tick();
    await world.clock.advance(second);
    await world.work();
    expect(new Set((await attempted()).map((row) => row.group)).size).toBe(4);
    expect(await groups()).toMatchObject([
      { target: "queue/demo", class: "Error", error: "Error: never" },
      { target: "queue/demo", class: "Error", error: "Error: no" },
      { target: "queue/demo", class: "TypeError", error: "TypeError: no" },
      { target: "queue/other", class: "Error", error: "Error: no" },
    ]);
    expect((await dead()).map(({ reason }) => reason)).toEqual(["gave-up", "gave-up", "gave-up", "gave-up"]);
  });

  test("the group of an error is the same in every database, so that a link to it lasts", async () => {
    await oneParcel(world, 1, { retry: { attempts: 1 } });
    world.outcome = () => failed("db is down");
    await world.work();
    expect(await groups()).toMatchObject([{ id: "57983fa873d9" }]);
  });

  test("a job has the error group of its last failed attempt, and none once it has succeeded", async () => {
    await oneParcel(world, 1, { retry: { attempts: 3, backoff: "fixed", base: "1m", jitter: "none" } });
    const id = async () => {
      const [row] = await world.sql<{ id: string }[]>`
        select schedule_id || '-' || (extract(epoch from occurrence) * 1000)::bigint || '-c0' as id from carillon.jobs`;
      return row?.id ?? "";
    };
    const job = async () => readJob(world.sql, await id());
    world.outcome = () => failed("db is down");
    await world.work();
    const first = (await job())?.errorGroup;
    world.outcome = () => failed("db is full");
    await world.clock.advance(minute);
    await world.work();
    const last = (await job())?.errorGroup;
    expect([first, last]).toEqual([expect.any(String), expect.any(String)]);
    expect(last).not.toBe(first);
    world.outcome = () => done;
    await world.clock.advance(minute);
    await world.work();
    expect(await job()).toMatchObject({
      state: "succeeded",
      errorGroup: null,
      attempts: [{ errorGroup: first }, { errorGroup: last }, { errorGroup: null }],
    });
  });

  test("a job whose worker died has the error group of crashes, in either way of ending a lease", async () => {
    await oneParcel(world, 1, { retry: { attempts: 2 } });
    for (let crash = 0; crash < 2; crash++) {
      const [parcel] = await world.sql<{ id: string }[]>`select id from carillon.parcels`;
      await claimParcel(world.sql, parcel?.id ?? "0", 30 * second);
      await world.clock.advance(31 * second);
      await endLease({ sql: world.sql, log: world.log }, parcel?.id ?? "0", []);
    }
    const [group] = await groups();
    expect(await groups()).toMatchObject([{ class: "LeaseEnded" }]);
    expect(await attempted()).toEqual([1, 2].map((attempt) => ({ key: "job-0", attempt, group: group?.id })));
    expect(await dead()).toMatchObject([{ group: group?.id }]);
  });

  test("jobs that succeed or are handed back note no error group", async () => {
    const id = await oneParcel(world, 2);
    const parcel = await claimParcel(world.sql, id, 30 * second);
    if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
    await settleParcel(world.sql, parcel, [{ kind: "succeeded" }, { kind: "back" }]);
    expect(await groups()).toEqual([]);
  });
});

describe("the row of an error group", () => {
  test("an error group has a row for each day of its jobs, so that it is dropped with them", async () => {
    await world.put("a", { when: "every 12h", startsAt: at(second).toISOString(), retry: { attempts: 1 } });
    world.outcome = () => failed("no");
    for (let fired = 0; fired < 4; fired++) {
      await world.tick();
      await world.clock.advance(fired === 0 ? second : day / 2);
      await world.tick();
      await world.work();
    }
    const rows = await world.sql<{ id: string; day: string }[]>`
      select id, occurrence::date::text as day from carillon.error_groups order by occurrence`;
    expect(new Set(rows.map(({ id }) => id)).size).toBe(1);
    expect(rows.map((row) => row.day)).toEqual([...new Set(rows.map((row) => row.day))]);
    expect(rows.length).toBeGreaterThanOrEqual(2);
  });
});
