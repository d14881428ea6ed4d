import { expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { applyEditsInside } from "../../lib/batch/edits-inside.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import type { Sql, Tx } from "../../lib/db/connect.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { again, handler, recheckWorld } from "../history/recheck-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";

/**
 * Many edits and a settle meet at the same locks while the edits are blocked halfway: the settle
 * waits for the edits, and the edits never wait for the settle.
 */

const caller = { name: "ann" };

test("the lanes of schedules with rechecks are locked together with all other lanes, in their order", async () => {
  const world = await recheckWorld();
  const [behind, other] = await idsByLane(world.sql, 3, 2);
  const [before] = await idsByLane(world.sql, 9, 1);
  world.answers.set("checked", [again(3 * hour)]);
  await putWithId(world, "checked", behind, { when: "in 1m", ...handler });
  await world.workAt(minute);
  const together = { when: `at ${at(hour).toISOString()}`, overlap: "queue", ...handler };
  await putWithId(world, "behind", other, together);
  await putWithId(world, "before", before, together);
  await world.clock.setNow(at(hour));
  await world.tick();
  const [job] = await world.jobs("before");
  const fence = await claimed(world, "before");
  expect((await world.jobs("behind"))[0]?.parcelId).toBe(job?.parcelId);

  const body = parseScheduleBody({ when: "every 3h", target: { handler: "new" } });
  await settleDuring(
    world,
    { parcel: job?.parcelId, fence },
    {
      // The edits need to insert the same target.
      holdUp: (tx) => tx`select carillon.target_named('handler/new')`,
      edit: () =>
        world.sql.begin((tx) =>
          applyEditsInside(
            tx,
            [
              { kind: "put", key: "before", body },
              { kind: "put", key: "another", body },
              { kind: "cancel", key: "checked" },
            ],
            { author: "ann", parcelId: "0", schedules: [] },
          ),
        ),
    },
  );
  await world.stop();
}, 30_000);

test("the targets at which replaced jobs wait are locked before lanes", async () => {
  const world = await carillon();
  await world.sql`select carillon.target_named('queue/demo')`;
  await world.sql`update carillon.targets set concurrency = 1 where name = 'queue/demo'`;
  const job = (key: string, body: object): Operation => ({
    kind: "put",
    key,
    caller,
    ifExists: "replace",
    body: parseScheduleBody({ when: "in 1s", deleteOnEnd: true, target: { queue: "demo" }, ...body }),
  });
  const laned = { group: "g", serial: true };
  const apply = (operations: Operation[]) =>
    applyOperations({ sql: world.sql, queue: world.queue }, operations);
  await apply([job("runs", laned)]);
  await world.clock.advance(second);
  const fence = await claimed(world, "runs");
  await apply([job("in lane", { ...laned, target: { queue: "other" } }), job("at target", {})]);
  await world.clock.advance(second);
  for (const key of ["in lane", "at target"]) await claimed(world, key);
  const [runs] = await world.jobs("runs");

  const later = { when: "in 5s" };
  const changed = await settleDuring(
    world,
    { parcel: runs?.parcelId, fence },
    {
      holdUp: (tx) => tx`select from carillon.parcels where lane = 'group/g' for update`,
      edit: () =>
        apply([job("in lane", { ...laned, ...later, target: { queue: "other" } }), job("at target", later)]),
    },
  );
  expect(changed).toMatchObject([{ change: "changed" }, { change: "changed" }]);
  await world.stop();
}, 30_000);

/** Blocks an edit, starts a settle, and unblocks the edit: both must end. */
async function settleDuring<Edited>(
  world: Carillon,
  { parcel, fence }: { parcel: string | null | undefined; fence: number },
  { holdUp, edit }: { holdUp: (tx: Tx) => PromiseLike<unknown>; edit: () => Promise<Edited> },
): Promise<Edited> {
  const over = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = world.sql.begin(async (tx) => {
    await holdUp(tx);
    held.resolve();
    await over.promise;
  });
  await held.promise;
  const editing = edit();
  await blocked(world, 1);
  const settling = world.sql`select from carillon.settle_parcel(${parcel ?? null}, ${fence})`.execute();
  await blocked(world, 2);
  over.resolve();
  const [edited] = await Promise.all([editing, settling, holding]);
  return edited;
}

function blocked({ sql }: Carillon, count: number): Promise<unknown> {
  return until(`${count} wait for a lock`, async () => {
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return row?.count === count;
  });
}

/** Claims the parcel of a key's job: it runs, or waits in its lane or at its target. */
async function claimed(world: Carillon, key: string): Promise<number> {
  await world.tick();
  const [job] = await world.jobs(key);
  await claimParcel(world.sql, job?.parcelId ?? "", 30 * second);
  const [parcel] = await world.sql<{ fence: number }[]>`
    select fence from carillon.parcels where id = ${job?.parcelId ?? null}`;
  return parcel?.fence ?? Number.NaN;
}

/** Ids of one shard whose own lane has this key. */
async function idsByLane(sql: Sql, lane: number, count: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    select id from generate_series(1600, 8000, 16) id where hashtext(carillon.lane_of(id)) & 15 = ${lane} order by id limit ${count}`;
  return rows.map(({ id }) => id);
}

async function putWithId(world: Carillon, key: string, id: string | undefined, body: object): Promise<void> {
  await world.sql`select setval('carillon.schedules_id_seq', ${id ?? null}::bigint, false)`;
  await world.put(key, body);
}
