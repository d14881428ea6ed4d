import { afterEach, beforeEach, expect, test } from "vitest";
import { deliverTo } from "../../lib/target/deliver.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { oneParcel } from "../support/parcels.ts";
import { quarantined } from "./poison.ts";

/**
 * The stored version of one job of a parcel of five has a target or a retry policy that cannot be
 * read: edited by hand, or written by a newer release.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const bad = "job-2";
const neighbours = ["job-0", "job-1", "job-3", "job-4"];

const edited = (set: string) =>
  world.sql.unsafe(
    `update carillon.schedule_versions set ${set} where schedule_id = (select id from carillon.schedules where key = '${bad}')`,
  );

/** The keys of the jobs that each kind of target received. */
function targetsThatAnswer(): { queue: string[]; event: string[] } {
  const got = { queue: [] as string[], event: [] as string[] };
  const noting = (keys: string[]) => async (jobs: readonly { key: string }[]) => {
    keys.push(...jobs.map(({ key }) => key));
    return jobs.map(() => done);
  };
  const none = () => Promise.reject(new Error("Only queues and buses are delivered to here."));
  const deliver = deliverTo({
    queue: noting(got.queue),
    event: noting(got.event),
    handler: none,
    webhook: none,
    lambda: none,
  });
  world.more.worker = { deliver };
  return got;
}

test.each([
  ["null", "null"],
  ["a text", '"demo"'],
  ["a queue whose name is a number", '{"queue": 5}'],
  ["a queue whose attributes are null", '{"queue": "demo", "attributes": null}'],
  ["an event that is null", '{"event": null}'],
  ["of no kind that is known", '{"pigeon": "grey"}'],
])(
  "A stored target that is %s fails its job with that reason, and its neighbours are delivered at once",
  async (_, target) => {
    const got = targetsThatAnswer();
    await oneParcel(world, 5, { retry: { attempts: 1 } });
    await edited(`target = '${target}'`);
    await world.sql`
      update carillon.schedule_versions set target = '{"event": {"bus": "b", "source": "s", "detailType": "d"}}'
      where schedule_id = (select id from carillon.schedules where key = 'job-4')`;
    expect(await world.work()).toEqual([]);
    expect(got).toEqual({ queue: ["job-0", "job-1", "job-3"], event: ["job-4"] });
    expect(await world.jobs(bad)).toMatchObject([
      { state: "dead", error: expect.stringContaining("The stored target cannot be read: it is") },
    ]);
  },
);

test("A job whose stored target is repaired is delivered at its next attempt", async () => {
  const got = targetsThatAnswer();
  await oneParcel(world, 5, { retry: { backoff: "fixed", base: "30s" } });
  await edited("target = 'null'");
  await world.work();
  await edited(`target = '{"queue": "demo"}'`);
  await world.clock.advance(minute);
  await world.work();
  expect(got.queue).toEqual([...neighbours, bad]);
});

test.each([
  ["a backoff of a newer release", '{"backoff": "fibonacci"}', 5],
  ["a wait that is a number", '{"base": 10}', 5],
  ["a bound that is a number", '{"max": 10}', 5],
  ["a number of attempts that is a text", '{"attempts": "many"}', 5],
  ["a list of waits that are numbers", '{"backoff": "list", "delays": [5, 6]}', 5],
  ["a text in its place", '"never"', 5],
  ["one member that is odd, beside one that can be read", '{"attempts": 2, "jitter": 7}', 2],
])(
  "A stored retry policy with %s is replaced by the default, and the job is settled each time",
  async (_, retry, attempts) => {
    world.outcome = ({ key }) => (key === bad ? failed("boom") : done);
    await oneParcel(world, 5);
    await edited(`body = body || '{"retry": ${retry}}'`);
    for (let each = 0; each < 10; each++) {
      expect(await world.work()).toEqual([]);
      await world.clock.advance(3 * minute);
      await world.tick();
    }
    expect(await world.jobs(bad)).toMatchObject([
      { state: "dead", reason: "attempts", error: "boom", attempt: attempts },
    ]);
    expect(world.delivered.filter(({ key }) => key === bad)).toHaveLength(attempts);
    expect(world.delivered.filter(({ key }) => key !== bad)).toHaveLength(neighbours.length);
    expect(await quarantined(world)).toEqual([]);
  },
);
