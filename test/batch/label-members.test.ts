import { afterEach, beforeEach, expect, test } from "vitest";
import { cancelLabel } from "../../lib/batch/cancel-label.ts";
import { editOnce } from "../../lib/edit/edit-transaction.ts";
import { patchSteps } from "../../lib/edit/schedule-edits.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { makeAtOnce } from "../../lib/plan/maker.ts";
import { whileEdited } from "../edit/while-edited.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";

/**
 * The cancel of a group or a tag deletes the schedules that are its members at that moment and
 * whose keys the caller may access.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  // All in shard 1, so that their jobs travel together.
  await world.sql`alter table carillon.schedules alter column id set increment by 16`;
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const group = { scope: "group", name: "g" } as const;
const tag = { scope: "tag", name: "t" } as const;

const live = async () => {
  const rows = await world.sql<{ key: string }[]>`
    select key from carillon.schedules where deleted_at is null order by key`;
  return rows.map(({ key }) => key);
};

test.each([
  ["a group", group, { group: "other" }],
  ["a tag", tag, { tags: [] }],
])("the cancel of %s keeps a schedule that a concurrent edit takes out of it", async (_of, label, patch) => {
  // Otherwise the edit is acknowledged, and its schedule is deleted all the same.
  for (const key of ["leaves", "stays"]) await world.put(key, { when: "every 1h", group: "g", tags: ["t"] });
  const outcome = await whileEdited(world, "leaves", () => cancelLabel(deps(), { label, caller }), {
    before: (tx) =>
      editOnce(tx, { key: "leaves", caller }, patchSteps({ patch, caller }), {
        labels: [{ scope: "group", name: "other" }],
        teams: new Set(),
        maker: makeAtOnce,
      }),
  });
  expect(outcome).toMatchObject({ value: { done: 1, running: 0 } });
  expect(await live()).toEqual(["leaves"]);
});

test.each([
  ["a group", group],
  ["a tag", tag],
])("the cancel of %s deletes no key beyond the prefix of its caller", async (_of, label) => {
  // Otherwise a team deletes the schedules of another one that uses the same label.
  for (const key of ["shop/a", "shop/b", "bank/a", "zoo/a"])
    await world.put(key, { when: "every 1h", group: "g", tags: ["t"] });
  expect(await cancelLabel(deps(), { label, caller, prefix: "shop/" })).toMatchObject({ done: 2 });
  expect(await live()).toEqual(["bank/a", "zoo/a"]);
});

test("the cancel of a group does not stop a job outside the group that is in the same parcel", async () => {
  // Otherwise the handler of another schedule is stopped in the middle of its work.
  await world.put("own", { when: "in 1m", group: "g" });
  await world.put("beside", { when: "in 1m" });
  await world.tick();
  await world.clock.advance(minute);
  const [job] = await world.jobs("own");
  expect((await world.jobs("beside"))[0]?.parcelId).toBe(job?.parcelId);
  await claimParcel(world.sql, job?.parcelId ?? "0", minute);
  expect(await cancelLabel(deps(), { label: group, caller })).toEqual({ done: 1, running: 1, failed: 0 });
  const asked = await world.sql`
    select s.key from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where j.cancel_asked`;
  expect(asked).toEqual([{ key: "own" }]);
});

test("the cancel of a group stops a job that a grouped handler works together with jobs of another shard", async () => {
  // Otherwise a handler continues a job that was reported as cancelled.
  await world.sql`alter table carillon.schedules alter column id set increment by 1`;
  await world.sql`select carillon.note_grouped(array['handler/digest'], array[true])`;
  for (const key of ["a", "b"])
    await world.put(key, { when: "in 1m", group: "g", target: { handler: "digest" } });
  await world.tick();
  await world.clock.advance(minute);
  const [job] = await world.jobs("a");
  const claim = await claimParcel(world.sql, job?.parcelId ?? "0", minute);
  expect(claim.outcome === "claimed" && claim.jobs.map(({ key }) => key).sort()).toEqual(["a", "b"]);
  const shards = await world.sql`select distinct shard from carillon.schedules`;
  expect(shards).toHaveLength(2);
  expect(await cancelLabel(deps(), { label: group, caller })).toEqual({ done: 2, running: 2, failed: 0 });
});
