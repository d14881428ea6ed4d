import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect } from "../../lib/db/connect.ts";
import { parcelMessage } from "../../lib/parcel/parcel-queue.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { until } from "../support/until.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const events = () => world.log.lines.map(({ event }) => event);

describe("a worker", () => {
  test("a worker waits out the last second and starts no job early", async () => {
    await oneParcel(world, 1);
    await world.clock.setNow(at(minute - second));
    await world.work();
    expect(world.delivered).toMatchObject([{ at: due.toISOString() }]);
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", startedAt: due }]);
  });

  test("a worker puts a message that came long before its time back on its own queue, one for one, with its delay", async () => {
    const id = await oneParcel(world, 1, { target: { handler: "greet" } });
    await world.clock.setNow(at(30 * second));
    world.queue.messages = [];
    world.queue.put("slow", parcelMessage(id));
    expect(await world.work()).toEqual([]);
    expect(world.queue.messages).toMatchObject([
      { queue: "slow", delaySeconds: 29, body: parcelMessage(id) },
    ]);
    expect(world.delivered).toEqual([]);
  });

  test("a worker keeps a message that cannot be put back", async () => {
    const id = await oneParcel(world, 1);
    await world.clock.setNow(at(30 * second));
    world.queue.messages = [];
    world.queue.put("fast", parcelMessage(id));
    world.queue.outage = new Error("away");
    expect(await world.work()).toEqual([parcelMessage(id)]);
  });

  test("a worker claims nothing when hardly any time is left", async () => {
    const id = await oneParcel(world, 1);
    const taken = world.queue.take("fast");
    expect(taken).toHaveLength(1);
    world.queue.put("fast", parcelMessage(id), 0);
    let visits = 0;
    world.queue.fate = () => (++visits > 1 ? "lost" : "arrives");
    await world.work(2_999);
    expect(world.delivered).toEqual([]);
    expect(await world.sql`select fence from carillon.parcels`).toEqual([{ fence: 0 }]);
  });

  test("a worker retries a settle that another transaction made wait too long", async () => {
    const id = await oneParcel(world, 1);
    await world.clock.setNow(due);
    await world.sql.unsafe(
      `alter database ${new URL(world.databaseUrl).pathname.slice(1)} set lock_timeout = '50ms'`,
    );
    const worker = connect({ DATABASE_URL: world.databaseUrl });
    world.more.worker = { sql: worker };
    let keeping: Promise<unknown> | undefined;
    world.outcome = async () => {
      const locked = Promise.withResolvers<void>();
      keeping = world.sql.begin(async (tx) => {
        await tx`select from carillon.parcels where id = ${id} for update`;
        locked.resolve();
        await until("the worker has given up once", async () => events().includes("worker.settle-again"));
      });
      await locked.promise;
      return done;
    };
    expect(await world.work()).toEqual([]);
    await keeping;
    await worker.end();
    expect(world.delivered).toHaveLength(1);
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", attempt: 1 }]);
  });

  test("a message that Carillon did not write is deleted with a log line, and harms no other", async () => {
    await oneParcel(world, 1);
    const odd = ["", "{}", "\u0000", '{"v":7,"parcel":"1"}', "x".repeat(100_000), '{"v":1,"parcel":"no"}'];
    for (const body of odd) world.queue.put("fast", body);
    world.queue.put("fast", parcelMessage("9223372036854775807"));
    world.queue.put("fast", parcelMessage("9999999999999999999"));
    expect(await world.work()).toEqual([]);
    expect(world.delivered).toHaveLength(1);
    expect(events().filter((event) => event === "parcel.odd-message").length).toBeGreaterThanOrEqual(
      odd.length,
    );
  });

  test("a parcel whose message comes twice, together or later, is delivered once", async () => {
    world.queue.fate = () => "twice";
    const id = await oneParcel(world, 2);
    await world.work();
    world.queue.put("fast", parcelMessage(id));
    expect(await world.work()).toEqual([]);
    expect(world.delivered).toHaveLength(2);
  });

  test("a worker keeps the message of a delivery that broke and settles the others, and the jobs come back when the lease has ended", async () => {
    await world.put("breaks", { when: "in 1m" });
    await world.put("works", { when: "in 1m" });
    await world.tick();
    await world.clock.setNow(due);
    world.outcome = ({ key }) =>
      key === "breaks" ? Promise.reject(new Error("the process is out of order")) : { kind: "done" };
    expect(await world.work()).toHaveLength(1);
    expect(await world.jobs("works")).toMatchObject([{ state: "succeeded" }]);
    expect(await world.jobs("breaks")).toMatchObject([{ state: "waiting", attempt: 0 }]);
    world.outcome = () => ({ kind: "done" });
    await world.clock.advance(2 * minute);
    await world.tick();
    await world.work();
    expect(await world.jobs("breaks")).toMatchObject([{ state: "succeeded", attempt: 2 }]);
  });

  test("a worker whose lease was lost logs no failure of a job, because another worker has the job", async () => {
    await oneParcel(world, 1);
    world.outcome = async () => {
      await world.sql`update carillon.parcels set fence = fence + 1`;
      return failed("no");
    };
    await world.work();
    expect(events()).toContain("worker.lease-lost");
    expect(events()).not.toContain("job.failed");
  });

  test("a worker keeps the message of a parcel that is not ready if the parcel that it works meanwhile breaks", async () => {
    const body = { target: { handler: "greet" } };
    await world.put("breaks", { when: `at ${at(minute).toISOString()}`, ...body });
    await world.put("waits", { when: `at ${at(minute + 3 * second).toISOString()}`, ...body });
    await world.tick();
    await world.clock.setNow(due);
    const [, waits] = await world.sql<{ id: string }[]>`select id from carillon.parcels order by ready_at`;
    world.queue.messages = [];
    world.queue.put("slow", parcelMessage(waits?.id ?? ""));
    world.outcome = ({ key }) => (key === "breaks" ? Promise.reject(new Error("broken")) : done);
    expect(await world.work()).toEqual([parcelMessage(waits?.id ?? "")]);
    // Both are worked side by side, because a wait takes no time on the test's clock: either may be
    // first.
    expect(world.delivered.map(({ key }) => key).toSorted()).toEqual(["breaks", "waits"]);
  });

  test("a worker does not settle a parcel that another has taken over meanwhile, and logs that", async () => {
    await oneParcel(world, 1);
    let second = false;
    world.outcome = async () => {
      if (second) return { kind: "done" };
      second = true;
      await world.clock.advance(2 * minute);
      await world.tick();
      await world.work();
      return failed("I am the old one");
    };
    expect(await world.work()).toEqual([]);
    expect(events()).toContain("worker.lease-lost");
    expect(await world.jobs()).toMatchObject([{ state: "succeeded", attempt: 2, error: null }]);
  });
});

describe("a delivery that fails", () => {
  test("a failed delivery is retried after base × 2^n up to max, and is dead after the last attempt", async () => {
    await world.put("failing", { when: "in 1m", retry: { attempts: 5, base: "10s", max: "30s" } });
    world.outcome = () => failed("not today");
    await world.tick();
    await world.clock.setNow(due);
    for (let step = 0; step < 12; step++) {
      await world.work();
      await world.clock.advance(10 * second);
    }
    const passed = world.delivered.map(({ at: when }) => (Date.parse(when) - due.getTime()) / second);
    expect(passed).toEqual([0, 10, 30, 60, 90]);
    expect(world.delivered.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5]);
    expect(await world.jobs()).toMatchObject([
      {
        state: "dead",
        attempt: 5,
        reason: "attempts",
        error: "not today",
        startedAt: due,
        finishedAt: at(minute + 90 * second),
      },
    ]);
    expect(events().filter((event) => event.startsWith("job."))).toEqual([
      ...Array(4).fill("job.failed"),
      "job.dead",
    ]);
    expect(await world.sql`select from carillon.attempts`).toHaveLength(5);
  });

  test("a failed delivery is given up at once if a retry cannot help", async () => {
    await oneParcel(world, 1);
    world.outcome = () => failed("never", true);
    await world.work();
    expect(await world.jobs()).toMatchObject([{ state: "dead", attempt: 1 }]);
  });

  test("a failed delivery of one job does not affect the others of its parcel", async () => {
    await oneParcel(world, 5);
    world.outcome = ({ key }) => (key === "job-2" ? failed("no") : { kind: "done" });
    await world.work();
    const states = (await world.jobs()).map(({ key, state, attempt }) => [key, state, attempt]);
    expect(states.filter(([, state]) => state === "succeeded")).toHaveLength(4);
    expect(states).toContainEqual(["job-2", "waiting", 1]);
  });

  test("a failed delivery whose retry is later than a message can wait is retried on time", async () => {
    await oneParcel(world, 1, { retry: { base: "1h", max: "2h" } });
    world.outcome = () => failed("no");
    await world.work();
    expect(world.queue.messages).toEqual([]);
    for (let minutes = 1; minutes <= 60; minutes += 1) {
      await world.clock.setNow(at((minutes + 1) * minute));
      if (minutes > 55) await world.tick();
      await world.work();
    }
    expect(world.delivered.map(({ at: when }) => new Date(when))).toEqual([due, at(61 * minute)]);
  });
});
