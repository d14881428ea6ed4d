import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Tx } from "../../lib/db/connect.ts";
import { putSchedule } from "../../lib/edit/schedule-edits.ts";
import type { ClaimedParcel } from "../../lib/parcel/claim.ts";
import { claimTogether } from "../../lib/parcel/claim-together.ts";
import { notifyByDefault } from "../../lib/parcel/settle.ts";
import { settleTogether } from "../../lib/parcel/settle-together.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { type MemoryQueue, memoryQueue } from "../../lib/tools/testing/memory-queue.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { due, oneParcel } from "../support/parcels.ts";
import { type RecordedLog, recordedLog } from "../support/recorded-log.ts";
import { until } from "../support/until.ts";
import { type CrashedCluster, crashedCluster } from "./crashed-cluster.ts";
import { claimedBeforeOthers, ids, lease } from "./limit-world.ts";

/**
 * A claim does not wait for its flush to the disk: after a crash, as after a rollback, the parcel
 * has its former fence.
 */

describe("after a crash of Postgres", () => {
  let cluster: CrashedCluster;
  let log: RecordedLog;
  let queue: MemoryQueue;

  beforeEach(async () => {
    cluster = await crashedCluster();
    log = recordedLog();
    queue = memoryQueue(cluster.clock, log);
  });

  afterEach(async () => {
    queue.sqs.destroy();
    await cluster.stop();
  });

  const claim = async (id: string) => (await claimTogether(cluster.sql, [id], minute)).get(id);
  const settle = (parcel: ClaimedParcel) =>
    settleTogether({ sql: cluster.sql, queue, log, notify: notifyByDefault }, 1)(parcel);

  test("a worker whose claim was lost by a crash does not settle under the lease of the next one", async () => {
    const { sql, clock } = cluster;
    const body = parseScheduleBody({ target: { queue: "demo" }, when: `at ${due.toISOString()}` });
    await putSchedule({ sql, queue }, { key: "a", body, caller: { name: "ann" } });
    await tick({ sql, queue, log }, tickDefaults, () => false);
    await clock.setNow(due);
    const [{ id = "" } = {}] = await sql<{ id: string }[]>`select id from carillon.parcels`;

    await cluster.holdWriter();
    const first = await claim(id);
    await cluster.crash();
    const left = await cluster.sql`select fence, lease_until from carillon.parcels`;
    expect(left, "the claim is lost").toEqual([{ fence: 0, lease_until: null }]);

    const second = await claim(id);
    if (first === undefined || second === undefined) throw new Error("The parcel was not claimed.");
    expect(await settle(first)).toBe(false);
    expect(await settle(second)).toBe(true);
  });
});

describe("the fence of a lost claim", () => {
  let world: Carillon;

  beforeEach(async () => {
    world = await carillon();
  });

  afterEach(() => world.stop());

  interface Claim {
    parcels: string[];
    claim(sql: Tx): Promise<unknown>;
  }

  const fencesOf = async (sql: Tx, { parcels, claim }: Claim) => {
    await claim(sql);
    const rows = await sql<{ fence: number }[]>`
      select fence from carillon.parcels where id = any(${parcels}::bigint[]) and lease_until is not null`;
    return rows.map(({ fence }) => fence);
  };

  /** The fences of a claim that is lost, and of the same claim a millisecond later or more. */
  async function lostAndNext(claim: Claim): Promise<[number[], number[]]> {
    class Lost extends Error {}
    let lost: number[] = [];
    const losing = world.sql.begin(async (tx) => {
      lost = await fencesOf(tx, claim);
      throw new Lost();
    });
    await expect(losing).rejects.toThrow(Lost);
    const ms = async () =>
      (await world.sql`select date_trunc('milliseconds', clock_timestamp())::text as at`)[0];
    const then = await ms();
    await until("the next millisecond begins", async () => (await ms())?.["at"] !== then?.["at"]);
    return [lost, await world.sql.begin((tx) => fencesOf(tx, claim))];
  }

  test.each([
    {
      of: "of one parcel",
      prepare: async (): Promise<Claim> => {
        const id = await oneParcel(world, 1);
        return {
          parcels: [id],
          claim: (sql) => sql`select from carillon.claim_parcel(${id}, ${lease}, null)`,
        };
      },
    },
    {
      of: "of several parcels together",
      prepare: async (): Promise<Claim> => {
        const parcels = [await oneParcel(world, 1)];
        return {
          parcels,
          claim: (sql) => sql`select from carillon.claim_parcels(${parcels}::bigint[], ${lease})`,
        };
      },
    },
    {
      of: "of parcels that go along with another",
      prepare: async (): Promise<Claim> => {
        const head = await claimedBeforeOthers(world, 3);
        const parcels = (await ids(world)).filter((id) => id !== head.id);
        return {
          parcels,
          claim: (sql) => sql`select from carillon.claim_company(${head.id}, ${head.fence}, 9, ${lease})`,
        };
      },
    },
  ])("the fence of a lost claim is not given to the next claim $of", async ({ prepare }) => {
    const claim = await prepare();
    const [lost, next] = await lostAndNext(claim);
    expect(lost).toHaveLength(claim.parcels.length);
    expect(next).toHaveLength(claim.parcels.length);
    expect(next.filter((fence) => lost.includes(fence))).toEqual([]);
  });
});

describe("the fence of a claim", () => {
  let world: Carillon;

  beforeEach(async () => {
    world = await carillon();
  });

  afterEach(() => world.stop());

  const nextAfter = async (last: number) => {
    const [row] = await world.sql<{ fence: number; ms: number }[]>`
      select carillon.next_fence(${last}) as fence, ((extract(epoch from clock_timestamp()) * 1000)::bigint & 2147483647)::float8 as ms`;
    return row ?? { fence: 0, ms: 0 };
  };
  const circle = 2 ** 31;

  test("the fence of a claim is the server's clock if the last one is behind it, on either side of the overflow", async () => {
    for (const behind of [10_000, circle / 2, circle - 60_000]) {
      const { ms } = await nextAfter(0);
      const last = Math.max(1, (ms - behind + 2 * circle) % circle);
      const { fence, ms: now } = await nextAfter(last);
      expect((now - fence + circle) % circle).toBeLessThan(circle / 2);
      expect(fence).not.toBe(last);
      expect(fence).not.toBe(last + 1);
    }
  });

  test("the fence of a claim is one more than the last one if that is ahead of the server's clock, so that no fence of a parcel repeats", async () => {
    const [row] = await world.sql<{ fences: number[] }[]>`
      with recursive given as (
        select 1 as n, carillon.next_fence(0) as fence
        union all select n + 1, carillon.next_fence(fence) from given where n < 200
      ) select array_agg(fence order by n) as fences from given`;
    const fences = row?.fences ?? [];
    expect(new Set(fences).size).toBe(200);
  });
});
