import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { explain } from "../../lib/explain/explain.ts";
import { retryJob } from "../../lib/job-control/retry-jobs.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { functionRoles } from "../support/role-logins.ts";

/**
 * Rows of parcels are gone, deleted by hand in an incident or missing in a restored table. Their
 * jobs wait, and no worker starts them.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const deps = () => ({ sql: world.as.api, queue: world.queue });
const caller = { name: "ann" };

async function idOf(key: string): Promise<string> {
  const [row] = await world.sql<{ id: string }[]>`
    select j.schedule_id || '-' || (extract(epoch from j.occurrence) * 1000)::bigint || '-c0' as id
    from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = ${key} order by j.occurrence limit 1`;
  return row?.id ?? "";
}

const stateOf = async (key: string) => (await world.jobs(key)).map(({ state }) => state);

test("A waiting job whose parcel is gone is cancelled without its neighbours", async () => {
  await oneParcel(world, 3);
  await world.sql`delete from carillon.parcels`;
  const { job, asked } = await cancelJob(deps(), { id: await idOf("job-1"), caller });
  expect(asked).toBe(false);
  expect(job).toMatchObject({ state: "cancelled", reason: "requested", finishedAt: due });
  expect(await stateOf("job-0")).toEqual(["waiting"]);
});

test("A waiting job whose parcel is gone runs once when it is retried", async () => {
  await oneParcel(world, 3);
  await world.sql`delete from carillon.parcels`;
  await world.work();
  expect(world.delivered).toEqual([]);
  const id = await idOf("job-1");
  for (const each of [1, 2])
    await retryJob(deps(), { id, caller }).then(
      () => expect(each).toBe(1),
      (error: unknown) =>
        expect([each, error]).toMatchObject([2, { message: expect.stringContaining("is waiting") }]),
    );
  await world.work();
  expect(world.delivered).toMatchObject([{ key: "job-1", attempt: 1 }]);
  expect(await stateOf("job-1")).toEqual(["succeeded"]);
});

test.each([
  ["cancelled", cancelJob, ["b"]],
  ["retried", retryJob, ["a", "b"]],
] as const)(
  "A group continues when its first job, whose parcel is gone, is %s",
  async (_, act, delivered) => {
    for (const [index, key] of ["a", "b"].entries())
      await world.put(key, {
        when: `at ${at(minute + index * second).toISOString()}`,
        group: "g",
        serial: true,
      });
    await world.tick();
    const [first] = await world.jobs("a");
    await world.sql`delete from carillon.parcels where id = ${first?.parcelId ?? "0"}`;
    await world.clock.setNow(at(minute + 5 * second));
    await world.work();
    expect(world.delivered).toEqual([]);
    await act(deps(), { id: await idOf("a"), caller });
    for (let each = 0; each < 3; each++) {
      await world.work();
      await world.clock.advance(minute);
      await world.tick();
    }
    expect(world.delivered.map(({ key }) => key)).toEqual(delivered);
  },
);

test("The explanation of a waiting job whose parcel is gone suggests a retry or a cancel", async () => {
  await oneParcel(world, 1);
  await world.sql`delete from carillon.parcels`;
  await world.clock.advance(5 * minute);
  expect(await explain(world.as.api, { key: "job-0", at: due })).toMatchObject({
    outcome: "waiting",
    sentence:
      "Was due at 2026-03-02T10:01:00Z and has waited for 5 minutes; nothing will start it, because its parcel is gone. Retry or cancel it.",
  });
});
