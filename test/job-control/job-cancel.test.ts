import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { jobsOf } from "../../lib/history/job-history.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import { type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { notifyByDefault, settleParcel } from "../../lib/parcel/settle.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Delivery, failed, thrown } from "../../lib/target/delivery.ts";
import { workParcel } from "../../lib/worker/work-parcel.ts";
import type { WorkerDeps } from "../../lib/worker/worker-deps.ts";
import { whileEdited } from "../edit/while-edited.ts";
import { aborted } from "../support/aborted.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue });
const caller = { name: "ann" };

async function idOf(key: string): Promise<string> {
  const schedule = await readSchedule(world.sql, key);
  const [job] = (await jobsOf(world.sql, { id: schedule?.id ?? "" }, { limit: 1 })).items;
  if (job === undefined) throw new Error(`${key} has no job.`);
  return job.id;
}

const cancel = (id: string, reason?: string) => cancelJob(deps(), { id, reason, caller });

async function claimed(id: string): Promise<ClaimedParcel> {
  const parcel = await claimParcel(world.sql, id, 30 * second);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  return parcel;
}

const parcels = () => world.sql<{ id: string }[]>`select id from carillon.parcels order by id`;

describe("a job that waits", () => {
  test("a waiting job is cancelled at once, without its neighbours in the parcel", async () => {
    await oneParcel(world, 3);
    const id = await idOf("job-1");
    const { job, asked } = await cancel(id, "not wanted");
    expect(asked).toBe(false);
    expect(job).toMatchObject({
      state: "cancelled",
      reason: "requested",
      attempt: 0,
      finishedAt: at(minute),
    });
    await world.work();
    expect(world.delivered.map(({ key }) => key).sort()).toEqual(["job-0", "job-2"]);
    expect(await world.jobs()).toMatchObject([
      { state: "succeeded" },
      { state: "cancelled", parcelId: null, startedAt: null },
      { state: "succeeded" },
    ]);
    expect(await parcels()).toEqual([]);
    expect(
      await world.sql`select actor, subject, detail from carillon.audit where action = 'jobs.cancelled'`,
    ).toEqual([{ actor: "ann", subject: "job-1", detail: { jobs: 1, job: id, reason: "not wanted" } }]);
  });

  test("a cancelled job removes its parcel if no other job is in it", async () => {
    await oneParcel(world, 1);
    await cancel(await idOf("job-0"));
    expect(await parcels()).toEqual([]);
    expect(await world.work()).toEqual([]);
    expect(world.delivered).toEqual([]);
  });

  test("a cancelled job stays cancelled: an edit, a tick and a second cancel do not change it", async () => {
    await oneParcel(world, 1);
    const id = await idOf("job-0");
    await cancel(id);
    await world.patch("job-0", { payload: "new" });
    await world.clock.advance(minute);
    await world.tick();
    await world.work();
    expect(world.delivered).toEqual([]);
    await expect(cancel(id)).rejects.toMatchObject({ kind: "conflict" });
    expect(await readJob(world.sql, id)).toMatchObject({ state: "cancelled", finishedAt: at(minute) });
  });

  test("a job that is to be retried is cancelled, and its attempts are kept", async () => {
    await oneParcel(world, 1);
    world.outcome = () => thrown(new TypeError("no"));
    await world.work();
    const id = await idOf("job-0");
    expect(await readJob(world.sql, id)).toMatchObject({ state: "retrying" });
    await cancel(id);
    await world.clock.advance(minute);
    await world.work();
    expect(await readJob(world.sql, id)).toMatchObject({
      state: "cancelled",
      reason: "requested",
      attempt: 1,
      error: "TypeError: no",
      attempts: [{ attempt: 1, outcome: "failed", errorClass: "TypeError", durationMs: 0 }],
    });
  });

  test("a job under a hold is cancelled, and the resume releases the others", async () => {
    await oneParcel(world, 1);
    await world.pause("job-0");
    await world.work();
    const id = await idOf("job-0");
    await cancel(id);
    await world.resume("job-0");
    await world.work();
    expect(world.delivered).toEqual([]);
    expect(await parcels()).toEqual([]);
  });

  test("a cancelled job in a lane lets the next one pass at once, and one that waits in the lane blocks no other", async () => {
    await world.put("lane", { when: "every 10s", overlap: "queue" });
    await world.tick();
    await world.clock.advance(35 * second);
    world.outcome = () => failed("no");
    await world.work();
    const waiting = await world.jobs("lane");
    const [first, second_, third] = (
      await jobsOf(world.sql, { id: (await readSchedule(world.sql, "lane"))?.id ?? "" }, { limit: 100 })
    ).items.toReversed();
    expect(waiting.slice(0, 3).map(({ attempt }) => attempt)).toEqual([1, 0, 0]);
    world.outcome = () => ({ kind: "done" });
    await cancel(second_?.id ?? "");
    await cancel(first?.id ?? "");
    world.delivered = [];
    await world.work();
    expect(world.delivered.map(({ occurrence }) => new Date(occurrence))).toEqual([third?.occurrence]);
    expect(
      await world.sql`select from carillon.lane_entries where occurrence < ${third?.occurrence ?? null}`,
    ).toEqual([]);
  });

  test("a cancelled job that waits for its turn at a target, or has it, does not block the others", async () => {
    await world.put("limited", { when: "every 1d", target: { handler: "h" } });
    await setLimits(world, { target: "handler/h", limits: { concurrency: 1, rate: null }, caller });
    const fires = [];
    for (let n = 0; n < 4; n++) fires.push((await fireNow(deps(), { key: "limited", caller })).id);
    const ids = (await parcels()).map(({ id }) => id);
    const [first = "", waits = "", granted = "", last = ""] = ids;
    const running = await claimed(first);
    for (const id of [waits, granted, last])
      expect((await claimParcel(world.sql, id, 30 * second)).outcome).toBe("held");
    await cancel(fires[1] ?? "");
    expect((await parcels()).map(({ id }) => id)).toEqual([first, granted, last]);
    const { outgoing } = await settleParcel(world.sql, running, [{ kind: "succeeded" }]);
    expect(outgoing.map(({ id }) => id)).toEqual([granted]);
    await cancel(fires[2] ?? "");
    const empty = await claimParcel(world.sql, granted, 30 * second);
    expect(empty.outcome === "claimed" ? [] : empty.freed.map(({ id }) => id)).toEqual([last]);
    expect((await claimed(last)).jobs).toHaveLength(1);
  });

  test("a waiting manual job is cancelled like any other, and one of a deleted schedule is already cancelled", async () => {
    await world.put("report", { when: "every 1d" });
    const fired = await fireNow(deps(), { key: "report", caller });
    expect((await cancel(fired.id)).job).toMatchObject({ state: "cancelled" });
    const late = await fireNow(deps(), { key: "report", caller });
    await world.remove("report");
    await expect(cancel(late.id)).rejects.toThrow(`The job ${late.id} is cancelled: only a waiting`);
  });
});

describe("a job that runs", () => {
  test("a running job sees its signal abort, and is cancelled when its worker settles", async () => {
    const parcel = await claimed(await oneParcel(world, 2));
    const id = await idOf("job-0");
    const { job, asked } = await cancel(id);
    expect(asked).toBe(true);
    expect(job).toMatchObject({ state: "running", cancelling: true });
    await settleParcel(world.sql, parcel, [{ kind: "cancelled" }, { kind: "succeeded" }]);
    expect(await readJob(world.sql, id)).toMatchObject({
      state: "cancelled",
      reason: "requested",
      cancelling: false,
      attempts: [{ outcome: "cancelled" }],
    });
  });

  test("with a real worker, the signal of a running job aborts once the job is cancelled", async () => {
    const parcel = await oneParcel(world, 1, { target: { handler: "h" } });
    const id = await idOf("job-0");
    const seen: unknown[] = [];
    const deliver: WorkerDeps["deliver"] = async (jobs, { stopOf }) => {
      await cancel(id);
      return Promise.all(
        jobs.map(async (job): Promise<Delivery> => {
          await aborted(stopOf(job).signal);
          seen.push(stopOf(job).reason);
          return { kind: "cancelled" };
        }),
      );
    };
    const clock = { now: world.clock.now, sleep: async () => {} };
    const worker = { random: () => 1, notify: notifyByDefault, window: null, log: world.log };
    await workParcel({ ...deps(), ...worker, clock, deliver }, parcel, "slow", () => 60_000);
    expect(seen).toMatchObject([{ why: "cancelled" }]);
    expect(await readJob(world.sql, id)).toMatchObject({
      state: "cancelled",
      attempts: [{ outcome: "cancelled" }],
    });
  });

  test("a cancelled running job that was faster has succeeded, and one that failed is not retried", async () => {
    const parcel = await claimed(await oneParcel(world, 3));
    for (const key of ["job-0", "job-1", "job-2"]) await cancel(await idOf(key));
    await settleParcel(world.sql, parcel, [
      { kind: "succeeded" },
      { kind: "retry", afterMs: 1, error: "no" },
      { kind: "back" },
    ]);
    expect(await world.jobs()).toMatchObject([
      { state: "succeeded", reason: null },
      { state: "cancelled", reason: "requested", attempt: 1, error: "no" },
      { state: "cancelled", reason: "requested", attempt: 0 },
    ]);
    expect(await parcels()).toEqual([]);
  });

  test("a cancelled running job whose worker died is cancelled when its lease has ended", async () => {
    for (const count of [1, 2]) {
      await claimed(await oneParcel(world, count));
      const ids = await Promise.all(Array.from({ length: count }, (_, index) => idOf(`job-${index}`)));
      for (const id of ids) await cancel(id);
      await world.clock.advance(31 * second);
      await sweep(world.sql, world.log);
      for (const id of ids)
        expect(await readJob(world.sql, id)).toMatchObject({ state: "cancelled", reason: "requested" });
      expect(await parcels()).toEqual([]);
      await world.stop();
      world = await carillon();
    }
  });

  test("a cancelled running job whose worker died at its last attempt is cancelled as well", async () => {
    await claimed(await oneParcel(world, 1, { retry: { attempts: 1 } }));
    const id = await idOf("job-0");
    await cancel(id);
    await world.clock.advance(31 * second);
    await sweep(world.sql, world.log);
    expect(await readJob(world.sql, id)).toMatchObject({
      state: "cancelled",
      attempts: [{ outcome: "crashed", errorClass: "LeaseEnded" }],
    });
  });

  test("a second cancel of a running job only repeats the request to stop", async () => {
    await claimed(await oneParcel(world, 1));
    const id = await idOf("job-0");
    await cancel(id);
    expect(await cancel(id)).toMatchObject({ asked: true });
  });
});

test("a cancel takes effect before an edit or after it, never in between", async () => {
  await world.put("soon", { when: "in 2m" });
  await world.tick();
  const id = await idOf("soon");
  const outcome = await whileEdited(world, "soon", () => cancel(id), {
    before: (tx) => tx`delete from carillon.jobs where state = 'waiting'`,
  });
  expect(outcome).toMatchObject({ status: "rejected", reason: { kind: "missing" } });
});

describe("a refused cancel", () => {
  test("a cancel of a settled, unknown or unreadable job is refused", async () => {
    await oneParcel(world, 1);
    await world.work();
    const id = await idOf("job-0");
    await expect(cancel(id)).rejects.toThrow(`The job ${id} is succeeded: only a waiting`);
    for (const other of ["x", id.replace("c0", "m7"), ""]) {
      await expect(cancel(other)).rejects.toMatchObject({ kind: "missing" });
    }
    expect(await world.sql`select from carillon.audit where action = 'jobs.cancelled'`).toEqual([]);
  });
});

describe("with production's rights", () => {
  test("the rights of the API suffice to cancel waiting jobs and jobs in lanes", async () => {
    await world.stop();
    world = await carillon({ roles: functionRoles });
    await oneParcel(world, 1, { overlap: "queue" });
    const { api } = await functionRoles(world.sql, world.databaseUrl);
    const id = await idOf("job-0");
    expect(await cancelJob({ sql: api, queue: world.queue }, { id, caller })).toMatchObject({ asked: false });
    await api.end();
  });
});
