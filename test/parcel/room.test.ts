import { afterEach, beforeEach, expect, test } from "vitest";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { lockTarget } from "../../lib/db/locks.ts";
import { type Claimed, type ClaimedParcel, claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";
import { lease, parcels, readyParcels, workerOf } from "./limit-world.ts";

/**
 * Claims and settles at a target that only its share limits, while other claims and settles there
 * are under way.
 */

let world: Carillon;
let own: Sql;

beforeEach(async () => {
  world = await carillon();
  own = connect({ DATABASE_URL: world.databaseUrl }, { max: 12 });
});

afterEach(async () => {
  await own.end();
  await world.stop();
});

const outcomes = (claims: readonly Claimed[]) => claims.map(({ outcome }) => outcome).sort();
const worker = (share: number) => workerOf({ sql: own }, share);

const settle = (sql: Sql, parcel: ClaimedParcel) =>
  settleParcel(
    sql,
    parcel,
    parcel.jobs.map(() => ({ kind: "succeeded" })),
  );

/** A claim with this outcome, whose transaction stays open while `meanwhile` runs. */
async function whileClaiming(
  id: string,
  share: number,
  outcome: Claimed["outcome"],
  meanwhile: () => Promise<void>,
): Promise<void> {
  await own.begin(async (tx) => {
    const rows = await tx`
      select outcome from carillon.claim_parcel(${id}, ${lease}, ${share}) where outcome <> 'job'`;
    expect(rows).toEqual([{ outcome }]);
    await meanwhile();
  });
}

/** Uses a connection that waits for no lock. */
async function impatiently(act: (sql: Sql) => Promise<void>): Promise<void> {
  const sql = connect({ DATABASE_URL: world.databaseUrl });
  try {
    await sql`set lock_timeout = '200ms'`;
    await act(sql);
  } finally {
    await sql.end();
  }
}

test("two claims of one target do not wait for each other, nor a settle for a claim, while there is room", async () => {
  const [first = "", second = "", third = ""] = await readyParcels(world, 8, 3);
  const before = await worker(8).claimed(first);
  await impatiently((sql) =>
    whileClaiming(second, 8, "claimed", async () => {
      expect(await claimParcel(sql, third, lease, 8)).toMatchObject({ outcome: "claimed" });
      expect(await settle(sql, before)).toMatchObject({ held: true, outgoing: [] });
    }),
  );
});

test.each([1, 2, 4, 5, 9])(
  "with a share of %i, as many of twelve claims at once get a place, and the others get their turns",
  async (share) => {
    const all = await readyParcels(world, share, 12);
    const claims = await Promise.all(all.map(worker(share).claim));
    expect(outcomes(claims)).toEqual([
      ...Array<string>(share).fill("claimed"),
      ...Array<string>(12 - share).fill("held"),
    ]);
    let running = claims.flatMap((claim) => (claim.outcome === "claimed" ? [claim] : []));
    for (let done = 0; done < 12; ) {
      const settled = await Promise.all(running.map((parcel) => settle(own, parcel)));
      done += running.length;
      const granted = settled.flatMap(({ outgoing }) => outgoing.map(({ id }) => id));
      expect(granted).toHaveLength(Math.min(share, 12 - done));
      running = await Promise.all(granted.map((id) => worker(share).claimed(id)));
    }
    expect(await parcels(world)).toEqual([]);
  },
);

test.each([1, 8])(
  "a claim that is not committed yet is counted: the last place of %i is not given twice",
  async (share) => {
    const all = await readyParcels(world, share, share + 1);
    const [last = "", another = ""] = all.slice(share - 1);
    for (const id of all.slice(0, share - 1)) await worker(share).claimed(id);
    const others: Promise<Claimed>[] = [];
    await whileClaiming(last, share, "claimed", async () => {
      others.push(claimParcel(own, another, lease, share));
      await until("the other one waits", async () => (await waitingLocks(own)) === 1);
    });
    expect(outcomes(await Promise.all(others))).toEqual(["held"]);
  },
);

test("a parcel that begins to wait while the last place is given up gets its turn", async () => {
  const [first = "", second = ""] = await readyParcels(world, 1, 2);
  const before = await worker(1).claimed(first);
  const settling: Promise<{ outgoing: { id: string }[] }>[] = [];
  await whileClaiming(second, 1, "held", async () => {
    settling.push(settle(own, before));
    await until("the settle waits", async () => (await waitingLocks(own, 6)) === 1);
  });
  const [settled] = await Promise.all(settling);
  expect(settled?.outgoing.map(({ id }) => id)).toEqual([second]);
});

test("a claim that comes while the last place is being given up waits for that, and succeeds", async () => {
  const [first = "", second = ""] = await readyParcels(world, 1, 2);
  const before = await worker(1).claimed(first);
  const claiming: Promise<Claimed>[] = [];
  await own.begin(async (tx) => {
    const gone =
      await tx`select settled, id from carillon.settle_parcel(${before.id}, ${before.fence}, ${[]}::text[])`;
    expect(gone).toEqual([{ settled: true, id: null }]);
    claiming.push(claimParcel(own, second, lease, 1));
    await until("the claim waits", async () => (await waitingLocks(own, 6)) === 1);
  });
  expect(outcomes(await Promise.all(claiming))).toEqual(["claimed"]);
});

test("a claim of a parcel with a granted turn does not wait for the lock of the target", async () => {
  const [first = "", second = ""] = await readyParcels(world, 1, 2);
  const before = await worker(1).claimed(first);
  expect(await claimParcel(own, second, lease, 1)).toMatchObject({ outcome: "held" });
  const { outgoing } = await settle(own, before);
  expect(outgoing.map(({ id }) => id)).toEqual([second]);
  const [target] = await own<{ id: number }[]>`select id from carillon.targets`;
  await own.begin(async (tx) => {
    await lockTarget(tx, target?.id ?? 0);
    expect(await claimParcel(own, second, lease, 1)).toMatchObject({ outcome: "claimed", slots: 10 });
  });
});

test("a claim that finds room and then no job to start waits for no other claim of the target", async () => {
  const [first = "", second = "", third = ""] = await readyParcels(world, 8, 3);
  await own`update carillon.parcels set turn = 'waits', turn_at = ${at(60 * minute)}, ready_at = 'infinity' where id = ${third}`;
  await own`
    update carillon.jobs set state = 'cancelled', parcel_id = null, finished_at = carillon.clock() where parcel_id = ${first}`;
  await impatiently((sql) =>
    whileClaiming(second, 8, "claimed", async () => {
      expect(await claimParcel(sql, first, lease, 8)).toMatchObject({ outcome: "empty", freed: [] });
    }),
  );
});

test("a parcel at a full target waits, and was not leased for that", async () => {
  const [first = "", second = ""] = await readyParcels(world, 1, 2);
  const fences = () => own`select fence from carillon.parcels where id = ${second}`;
  await worker(1).claimed(first);
  const before = await fences();
  expect(await claimParcel(own, second, lease, 1)).toMatchObject({ outcome: "held", freed: [] });
  expect(await fences()).toEqual(before);
  expect(await parcels(world)).toMatchObject([
    { id: first, leased: true },
    { id: second, turn: "waits", leased: false },
  ]);
});
