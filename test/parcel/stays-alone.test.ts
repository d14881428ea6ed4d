import { afterEach, beforeEach, expect, test } from "vitest";
import { lockLane } from "../../lib/db/locks.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { sweep } from "../../lib/parcel/sweep.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";
import { until } from "../support/until.ts";
import { waitingLocks } from "../support/waiting-locks.ts";

let world: Carillon;
let scheduleId: string;

beforeEach(async () => {
  world = await carillon();
  scheduleId = (await world.put("s", { when: "every 10s", overlap: "queue" })).schedule.id;
  await world.tick();
  await world.clock.setNow(at(20 * second));
});

afterEach(() => world.stop());

/** Claims the parcel of the n-th job, from 1. */
async function claim(n: number): Promise<string> {
  const job = (await world.jobs("s"))[n - 1];
  return (await claimParcel(world.sql, job?.parcelId ?? "0", 10 * minute)).outcome;
}

/** Whether the n-th job has to be worked alone. */
async function isAlone(n: number): Promise<unknown> {
  const job = (await world.jobs("s"))[n - 1];
  const [row] = await world.sql`select alone from carillon.parcels where id = ${job?.parcelId ?? "0"}`;
  return row?.["alone"];
}

// A job that may have killed its worker is worked alone. Together with others it would kill them
// each time.
const killedItsWorker = (n: number) => world.sql`
  update carillon.parcels set alone = true where id = (
    select parcel_id from carillon.jobs where occurrence = ${at(n * 10 * second)})`;

test("a job that killed its worker stays alone while it waits for its turn in a lane", async () => {
  expect(await claim(1)).toBe("claimed");
  await killedItsWorker(2);
  expect(await claim(2)).toBe("empty");
  expect(await isAlone(2)).toBe(true);
});

test("a job that killed its worker stays alone while a hold keeps it", async () => {
  await killedItsWorker(1);
  await world.pause("s", { until: at(5 * minute) });
  expect(await claim(1)).toBe("empty");
  expect(await isAlone(1)).toBe(true);
});

test("the sweep waits for a settle that decides in a lane at this moment", async () => {
  expect(await claim(1)).toBe("claimed");
  expect(await claim(2)).toBe("empty");
  await world.clock.advance(2 * minute);
  const sweeps: Promise<unknown>[] = [];
  await world.sql.begin(async (settle) => {
    await lockLane(settle, scheduleId);
    sweeps.push(sweep(world.sql, world.log));
    // By the state before that settle, the sweep would send a message for a job that may not start.
    await until("the sweep waits", async () => (await waitingLocks(world.sql, 4)) === 1);
  });
  await Promise.all(sweeps);
});
