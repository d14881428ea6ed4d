import { afterEach, beforeEach, expect, test } from "vitest";
import { explain } from "../../lib/explain/explain.ts";
import { parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { ids, workerOf } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { jump, live } from "../support/passing-time.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const told = (key: string, instant: Date) => explain(world.sql, { key, at: instant });

test("an outage of the tick is the cause of every occurrence that it delayed or prevented", async () => {
  await world.put("often", { when: "* * * * *" });
  await world.put("all", { when: "* * * * *", catchUp: { policy: "all" } });
  await world.put("queued", { when: "* * * * *", overlap: "queue" });
  await live(world, at(2 * minute));
  // Made ahead, and claimed by the workers on their own.
  for (const due of [3, 4, 5]) {
    await world.clock.setNow(at(due * minute));
    await world.work();
  }
  await jump(world, at(9 * minute));
  await live(world, at(16 * minute));
  const outage = { what: "tick", from: at(2 * minute), to: at(9 * minute) } as const;
  const text = "no tick ran from 2026-03-02T10:02:00Z to 2026-03-02T10:09:00Z";
  for (const due of [3, 4, 5])
    expect((await told("often", at(due * minute))).sentence).toContain("Ran, on time");
  for (const key of ["often", "all", "queued"]) {
    for (const due of [6, 7, 8]) {
      const { outcome, late, ...more } = await told(key, at(due * minute));
      expect(more).toMatchObject({ outage, sentence: expect.stringContaining(`because ${text}`) });
      if (outcome !== "skipped") expect(late?.because).toBe("tick");
    }
  }
});

test("A late run replaces the missed runs before it under the policy `latest` only", async () => {
  const policies = ["latest", "skip", "all"] as const;
  for (const policy of policies)
    await world.put(policy, {
      when: "* * * * *",
      catchUp: policy === "all" ? { policy, limit: 1 } : { policy },
    });
  await live(world, at(2 * minute));
  await jump(world, at(20 * minute + 40 * second));
  await live(world, at(22 * minute));
  const replacing = await Promise.all(
    policies.map(async (key) => {
      const runs = await Promise.all([18, 19, 20].map((due) => told(key, at(due * minute))));
      return runs.some(({ sentence }) => sentence.includes("replaces the missed runs"));
    }),
  );
  expect(replacing).toEqual([true, false, false]);
});

test("an outage of the workers is the cause of every occurrence in it, also while it lasts", async () => {
  await world.put("often", { when: "* * * * *" });
  await live(world, at(2 * minute));
  for (let due = 3; due <= 8; due++) {
    await world.clock.setNow(at(due * minute));
    await world.tick();
  }
  expect(await told("often", at(4 * minute))).toMatchObject({
    outcome: "waiting",
    outage: { what: "fast-workers", from: at(3 * minute), to: null },
    sentence: expect.stringContaining("no worker of the fast queue claimed a job since 2026-03-02T10:03:00Z"),
  });
  await world.clock.setNow(at(8 * minute + 30 * second));
  await world.work();
  await jump(world, at(9 * minute));
  for (let due = 3; due <= 8; due++)
    expect(await told("often", at(due * minute))).toMatchObject({
      outcome: "ran",
      late: { because: "worker" },
      outage: { what: "fast-workers", from: at(3 * minute), to: at(8 * minute + 30 * second) },
    });
  expect((await told("often", at(9 * minute))).sentence).toContain("Ran, on time");
});

test("jobs that were made before an outage of tick and workers have the cause of those that were not", async () => {
  await world.put("often", { when: "* * * * *" });
  await live(world, at(2 * minute));
  await world.clock.setNow(at(9 * minute));
  // The workers come back before the tick, which notes the outage.
  await world.work();
  await jump(world, at(9 * minute + 40 * second));
  await live(world, at(12 * minute));
  for (const due of [3, 4, 5, 6, 7, 8])
    expect(await told("often", at(due * minute))).toMatchObject({
      outage: { what: "tick", from: at(2 * minute), to: at(9 * minute + 40 * second) },
    });
  expect((await told("often", at(5 * minute))).late?.because).toBe("tick");
});

test("a job that a worker claimed a little late has its own cause, although no tick ran then", async () => {
  await world.put("often", { when: "* * * * *" });
  await live(world, at(2 * minute));
  await world.clock.setNow(at(4 * minute + 20 * second));
  await world.work();
  await jump(world, at(9 * minute));
  expect(await told("often", at(4 * minute))).toMatchObject({
    late: { because: "worker" },
    sentence: expect.stringContaining("no worker claimed it earlier"),
  });
});

test("a wait for a full target is still the cause once the job has run", async () => {
  const due = at(10 * minute);
  for (const key of ["a", "b"])
    await world.put(key, { when: `at ${due.toISOString()}`, target: { handler: "one" } });
  await world.sql`update carillon.targets set concurrency = 1`;
  await jump(world, at(8 * minute));
  await world.clock.setNow(due);
  const [first = ""] = await ids(world);
  const worker = workerOf(world);
  const parcel = await worker.claimed(first);
  await world.work();
  await world.clock.setNow(at(10 * minute + 40 * second));
  for (const id of await worker.settle(parcel)) world.queue.put("slow", parcelMessage(id));
  await world.work();
  const [row] = await world.sql<{ key: string }[]>`
    select s.key from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    where j.started_at >= ${at(10 * minute + 40 * second)}`;
  expect(await told(row?.key ?? "", due)).toMatchObject({
    outcome: "ran",
    late: { because: "target" },
    sentence: expect.stringContaining("it waited for its turn at handler/one from 2026-03-02T10:10:00Z on"),
  });
});

test("a job that no outage delayed names the step that was late", async () => {
  await world.put("often", { when: "*/5 * * * *" });
  await world.clock.setNow(at(3 * minute));
  await world.tick();
  await world.clock.setNow(at(5 * minute + 20 * second));
  await world.work();
  expect(await told("often", at(5 * minute))).toMatchObject({
    outcome: "ran",
    late: { byMs: 20 * second, because: "worker" },
    sentence: expect.stringContaining("no worker claimed it earlier"),
  });
});

test("between the end of a hold and the tick that clears it, no occurrence is called skipped or unrecorded", async () => {
  await world.put("often", { when: "*/5 * * * *" });
  await world.pause("often", { until: at(18 * minute), reason: "lunch" });
  await live(world, at(17 * minute));
  await world.clock.setNow(at(19 * minute));
  const heldBy = [{ owner: "ann", reason: "lunch", since: at(0), until: at(18 * minute) }];
  expect(await told("often", at(10 * minute))).toMatchObject({
    outcome: "held",
    heldBy,
    sentence: expect.stringContaining("The hold is over since 2026-03-02T10:18:00Z"),
  });
  expect(await told("often", at(15 * minute))).toMatchObject({
    outcome: "waiting",
    heldBy,
    sentence: expect.stringContaining('Was held by ann ("lunch") until 2026-03-02T10:18:00Z'),
  });
  await world.clock.setNow(at(21 * minute));
  expect((await told("often", at(20 * minute))).outcome).not.toBe("unrecorded");
  await world.tick();
  await world.work();
  await world.clock.setNow(at(hour));
  expect(await told("often", at(10 * minute))).toMatchObject({ outcome: "skipped", heldBy });
});
