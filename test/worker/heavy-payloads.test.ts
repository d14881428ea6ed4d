import { isDeepStrictEqual } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimTogether } from "../../lib/parcel/claim-together.ts";
import { heavyBytes, readHeavy } from "../../lib/parcel/heavy-payloads.ts";
import { done } from "../../lib/target/delivery.ts";
import { PayloadRoom, payloadRoomBytes } from "../../lib/worker/payload-room.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { due } from "../support/parcels.ts";

/** A worker gets ten parcels of up to 250 jobs, each with a payload of up to 240 KB: more than it has memory for. */

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const kilobyte = 1_024;
const text = (index: number, bytes: number) => String(index).repeat(bytes);

/** Schedules that are due together, each in a parcel of its own. */
async function parcels(payloads: readonly unknown[]): Promise<string[]> {
  for (const [index, payload] of payloads.entries())
    await world.put(`job-${index}`, { when: `at ${due.toISOString()}`, payload });
  await world.sql`update carillon.schedules set shard = substring(key from 5)::int`;
  await world.sql`update carillon.plan p set shard = s.shard from carillon.schedules s where s.id = p.schedule_id`;
  await world.tick();
  await world.clock.setNow(due);
  const rows = await world.sql<{ id: string }[]>`select id from carillon.parcels order by shard`;
  return rows.map(({ id }) => id);
}

test("a claim of several parcels brings no large payload, whether Postgres has made it small or not", async () => {
  const incompressible = Array.from({ length: 900 }, (_, index) => (index * 7_919).toString(36)).join("-");
  const payloads = [
    1,
    text(1, 200 * kilobyte),
    { list: [incompressible, incompressible.slice(0, 4_500)] },
    text(2, 3 * kilobyte),
  ];
  const ids = await parcels(payloads);
  const claimed = await claimTogether(world.sql, ids, minute);
  const light = ids.map((id) => claimed.get(id)?.jobs[0]);
  expect(Buffer.byteLength(JSON.stringify(light))).toBeLessThan(16 * kilobyte);
  expect(light.map((job) => (job?.payloadBytes ?? 0) > 0)).toEqual([false, true, true, true]);
  const whole = await Promise.all(
    ids.flatMap((id) => claimed.get(id) ?? []).map((parcel) => readHeavy(world.sql, parcel)),
  );
  const read = whole.flatMap(({ jobs }) => jobs.map(({ payload }) => payload));
  expect(read.map((payload, index) => isDeepStrictEqual(payload, payloads[index]))).toEqual(
    Array(4).fill(true),
  );
  expect(whole.map(heavyBytes)).toEqual([0, 0, 0, 0]);
});

test("a payload that is read after the claim is that of the claimed version, or the job's own", async () => {
  const [id = "", other = ""] = await parcels([text(1, 20 * kilobyte), text(2, 20 * kilobyte)]);
  await world.sql`update carillon.jobs set payload = ${world.sql.json(text(3, 20 * kilobyte))} where parcel_id = ${other}`;
  const claimed = await claimTogether(world.sql, [id, other], minute);
  await world.pause("job-0");
  await world.patch("job-0", { payload: "edited" });
  const payloads = await Promise.all(
    [id, other].map(async (each) => {
      const parcel = claimed.get(each);
      if (parcel === undefined) throw new Error("The parcel was not claimed.");
      return (await readHeavy(world.sql, parcel)).jobs[0]?.payload;
    }),
  );
  expect(payloads).toEqual([text(1, 20 * kilobyte), text(3, 20 * kilobyte)]);
});

test("parcels with large payloads are worked as many at a time as there is room for, and each is delivered whole", async () => {
  const payloads = Array.from({ length: 4 }, (_, index) => text(index, 230 * kilobyte));
  await parcels(payloads);
  // So that two of them have room.
  await world.sql`
    update carillon.schedule_versions set payload = to_jsonb(repeat(substr(payload #>> '{}', 1, 1), ${payloadRoomBytes / 2 - kilobyte}))`;
  let [now, most] = [0, 0];
  const bytesOf = (payload: unknown) => JSON.stringify(payload).length;
  world.more.worker = {
    deliver: async (jobs) => {
      const bytes = jobs.reduce((sum, { payload }) => sum + bytesOf(payload), 0);
      now += bytes;
      most = Math.max(most, now);
      await world.sql`select`;
      now -= bytes;
      return jobs.map(({ key, payload }) => {
        expect(String(payload).startsWith(key.slice(4))).toBe(true);
        return done;
      });
    },
  };
  expect(await world.work()).toEqual([]);
  expect(most).toBeGreaterThan(payloadRoomBytes / 4);
  expect(most).toBeLessThanOrEqual(payloadRoomBytes);
  expect((await world.jobs()).map(({ state }) => state)).toEqual(Array(4).fill("succeeded"));
});

test("what is larger than all the room goes in alone, and what comes after waits its turn", async () => {
  const room = new PayloadRoom(10);
  const inside: string[] = [];
  const doors = new Map<string, () => void>();
  const enter = (name: string, bytes: number) =>
    room.within(bytes, () => {
      inside.push(name);
      return new Promise<void>((leave) => doors.set(name, leave));
    });
  const all = [enter("a", 4), enter("huge", 50), enter("b", 4), enter("c", 6), enter("nothing", 0)];
  await Promise.resolve();
  const leave = async (name: string, index: number) => {
    doors.get(name)?.();
    await all[index];
    await Promise.resolve();
  };
  expect(inside.toSorted()).toEqual(["a", "nothing"]);
  await leave("a", 0);
  expect(inside.at(-1)).toBe("huge");
  await leave("huge", 1);
  expect(inside.slice(-2)).toEqual(["b", "c"]);
  for (const name of ["b", "c", "nothing"]) doors.get(name)?.();
  await Promise.all(all);
});
