import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelJob } from "../../lib/edit/cancel-jobs.ts";
import { jobId } from "../../lib/job/job-id.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute } from "../support/instants.ts";
import { agendaPages, shown } from "./pages.ts";

let world: Carillon;

/** The share whose ticks stop: half of the shards are behind. */
const behind = 1;
const ahead = { share: { share: 0, of: 2 } };

/** Puts schedules until one of them is in a shard of the share, and names it. */
async function keyIn(share: number, name: string, body: object): Promise<string> {
  for (let n = 0; n < 20; n++) {
    const key = `${name}:${n}`;
    await world.put(key, body);
    const [row] = await world.sql<
      { shard: number }[]
    >`select shard from carillon.schedules where key = ${key}`;
    if (row !== undefined && row.shard % 2 === share) return key;
    await world.remove(key);
  }
  throw new Error("No schedule was made in the share.");
}

async function minutes(count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    await world.clock.advance(minute);
    await world.tick(ahead);
    await world.work();
  }
}

beforeAll(async () => {
  world = await carillon();
  await world.tick();
});

afterAll(() => world.stop());

async function rowsOf(key: string, from: Date, to: Date): Promise<string[]> {
  const all = await agendaPages(world.sql, {}, [from, to], 100);
  const own = shown(all.filter((row) => row.key === key));
  for (const limit of [1, 7]) {
    const filtered = await agendaPages(world.sql, { prefix: key }, [from, to], limit);
    expect(shown(filtered)).toEqual(own);
  }
  return own.map((row) => row.replace(` ${key}`, ""));
}

test("Jobs of a deleted schedule stay in the agenda while another shard is behind", async () => {
  const gone = await keyIn(0, "gone", { when: "*/2 * * * *" });
  const late = await keyIn(behind, "late", { when: "*/5 * * * *" });
  await minutes(9);
  await world.remove(gone);
  expect(await rowsOf(gone, at(0), at("10:20:00"))).toEqual([
    "10:02:00 ran",
    "10:04:00 ran",
    "10:06:00 ran",
    "10:08:00 ran",
  ]);
  expect(await rowsOf(late, at(0), at("10:11:00"))).toEqual(["10:05:00 not-planned-yet", "10:10:00 planned"]);
});

test("Jobs of an earlier cadence stay in the agenda while another shard is behind", async () => {
  const edited = await keyIn(0, "edited", { when: "*/2 * * * *" });
  await minutes(5);
  await world.patch(edited, { when: "*/3 * * * *" });
  await minutes(2);
  expect(await rowsOf(edited, at("10:09:00"), at("10:19:00"))).toEqual([
    "10:10:00 ran",
    "10:12:00 ran",
    "10:14:00 ran",
    "10:15:00 ran",
    "10:18:00 planned",
  ]);
});

test("A cancelled job that was made ahead stays in the agenda after its schedule's cadence has changed", async () => {
  const { sql, queue } = world;
  const key = await keyIn(0, "ahead", { when: "*/2 * * * *" });
  await minutes(1);
  const [made] = await sql<{ id: string; occurrence: Date }[]>`
    select schedule_id as id, occurrence from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = ${key}`;
  if (made === undefined) throw new Error("No job was made ahead.");
  const id = jobId({ scheduleId: made.id, occurrence: made.occurrence, kind: "cadence", n: 0 });
  await cancelJob({ sql, queue }, { id, caller: { name: "ann" } });
  await world.patch(key, { when: "*/5 * * * *" });
  expect(await rowsOf(key, at("10:16:00"), at("10:21:00"))).toEqual([
    "10:18:00 cancelled requested",
    "10:20:00 planned",
  ]);
});

test("Occurrences in a passed-over range are not listed again while another shard is behind", async () => {
  const key = await keyIn(0, "passed", { when: "every 5s", catchUp: { policy: "skip" } });
  const from = world.clock.now();
  await world.clock.advance(8 * minute);
  await world.tick(ahead);
  const rows = await agendaPages(world.sql, { prefix: key }, [from, world.clock.now()], 7);
  const ranges = rows.flatMap(({ passedOver }) => (passedOver === null ? [] : [passedOver]));
  expect(ranges).toHaveLength(1);
  const within = rows.filter(
    ({ passedOver, occurrence }) =>
      passedOver === null && ranges.some((range) => range.from <= occurrence && occurrence <= range.to),
  );
  expect(shown(within)).toEqual([]);
});

test("With `maxFires`, the occurrences that the ticks have not planned yet are counted too", async () => {
  await minutes(4);
  const from = world.clock.now();
  const key = await keyIn(behind, "limited", { when: "* * * * *", maxFires: 3 });
  await minutes(6);
  const rows = await rowsOf(key, from, new Date(from.getTime() + 20 * minute));
  expect(rows.map((row) => row.slice(9))).toEqual(Array(3).fill("not-planned-yet"));
});
