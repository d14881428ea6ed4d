import { afterAll, beforeAll, expect, test } from "vitest";
import { handOver } from "../../lib/parcel/hand-over.ts";
import { fireShardBatch } from "../../lib/tick/fire/shard-batch.ts";
import { scanZone } from "../cadence/minute-scan.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { day, minute } from "../support/instants.ts";

/**
 * A year of the database's clock, through the real tick, claims and settles. Each week has a whole
 * tick; each other day has the share of a tick with the housekeeping and the one shard in use.
 * Before each due time that shard is fired alone, as the rule of each minute would do. Minutes
 * without due occurrences are left out. The expected jobs are found by checking the wall clock of
 * each zone minute by minute, which shares no code with the planner.
 */
const begin = Date.UTC(2026, 0, 15);
const end = begin + 365 * day;

const zones = [
  "America/New_York",
  "Europe/Berlin",
  "Australia/Lord_Howe",
  "America/Santiago",
  "Africa/Cairo",
  "Antarctica/Troll",
  "UTC",
];

/** Fixed times in the hours in which clocks change in some of the zones. */
const daily = ["30 2 * * *", "0 0 * * *"];
/**
 * An expression that follows real time. Its schedules run only around the clock changes, because
 * they would fill the year.
 */
const often = "*/20 0-3 * * *";

/**
 * A share of the tick, as if it were divided into one share for each shard. The first share has the
 * housekeeping, and the one shard in use.
 */
const ownShare = { share: 0, of: 16 };

let world: Carillon;
const expected = new Map<string, number[]>();

beforeAll(async () => {
  world = await carillon({ start: new Date(begin).toISOString() });
  await world.sql`alter table carillon.schedules alter column id set increment by 16 restart with 16`;
  await world.tick();
  for (const zone of zones) {
    for (const when of daily) {
      const key = `${zone.replace("/", ":")} ${when.replaceAll("/", "|")}`;
      await world.put(key, { when, timezone: zone });
      expected.set(key, scanZone(when, zone, { from: begin, upTo: end }));
    }
    for (const [index, change] of changesOf(zone).entries()) {
      const key = `${zone.replace("/", ":")} often ${index}`;
      const window = { startsAt: change - day / 2, endsAt: change + day / 2 };
      await world.put(key, {
        when: often,
        timezone: zone,
        startsAt: new Date(window.startsAt).toISOString(),
        endsAt: new Date(window.endsAt).toISOString(),
      });
      const all = scanZone(often, zone, { from: window.startsAt - 1, upTo: window.endsAt - 1 });
      expected.set(key, all);
    }
  }
}, 240_000);

afterAll(() => world.stop());

/** The days of a zone's clock changes within the year. */
function changesOf(timezone: string): number[] {
  const offset = new Intl.DateTimeFormat("en-US", { timeZone: timezone, timeZoneName: "longOffset" });
  const text = (at: number) => offset.format(at).replace(/^.*GMT/, "");
  const changes: number[] = [];
  for (let at = begin + day; at < end - 2 * day; at += day)
    if (text(at) !== text(at + day)) changes.push(at + day / 2);
  return changes;
}

test("Each day of a year has the jobs that the wall clocks require, none early and none twice", async () => {
  const instants = [...new Set([...expected.values()].flat())].sort((a, b) => a - b);
  const clockChanges = [...expected.keys()].filter((key) => key.includes("often"));
  expect(clockChanges).toHaveLength(12);
  let checked = begin;
  let days = 0;
  for (const instant of instants) {
    const isNewDay = instant - checked > day;
    if (isNewDay) {
      await checkDay(checked, checked + day);
      checked += day;
      days += 1;
    }
    if (instant <= world.clock.now().getTime()) continue;
    await world.clock.setNow(new Date(instant - minute));
    if (isNewDay) await world.tick(days % 7 === 0 ? {} : { share: ownShare });
    else await fireOneShard();
    await world.clock.setNow(new Date(instant));
    await world.work();
  }
  await checkDay(checked, end);
  expect(world.delivered).toHaveLength([...expected.values()].flat().length);
}, 600_000);

async function fireOneShard(): Promise<void> {
  for (let done = false; !done; ) {
    const fired = await fireShardBatch(world.sql, ownShare.share, 100, world.queue.timing);
    await handOver(world.sql, world.queue, fired.parcels);
    done = fired.done;
  }
}

async function checkDay(from: number, to: number): Promise<void> {
  const jobs = await world.sql<{ key: string; occurrence: Date; startedAt: Date | null; state: string }[]>`
    select s.key, j.occurrence, j.started_at as "startedAt", j.state from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id
    where j.occurrence > ${new Date(from)} and j.occurrence <= ${new Date(to)}`;
  const found = jobs.map(({ key, occurrence }) => `${occurrence.toISOString()} ${key}`).sort();
  const wanted = [...expected].flatMap(([key, instants]) =>
    instants.filter((at) => at > from && at <= to).map((at) => `${new Date(at).toISOString()} ${key}`),
  );
  expect(found).toEqual(wanted.sort());
  const late = jobs.filter(({ occurrence, startedAt, state }) => {
    const lateness = (startedAt?.getTime() ?? Number.NaN) - occurrence.getTime();
    return state !== "succeeded" || !(lateness >= 0 && lateness < 1_000);
  });
  expect(late).toEqual([]);
}
