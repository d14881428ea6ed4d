import { afterEach, beforeEach, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { readPrefixStats } from "../../lib/stats/prefix-stats.ts";
import { readStanding } from "../../lib/stats/standing.ts";
import { due, dueOnce, ids, lease } from "../parcel/limit-world.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

/**
 * The alarms of a deployment use these figures: each must show the standstill that its alarm is
 * for, and nothing else.
 */

let world: Carillon;

beforeEach(async () => {
  world = await carillon({ roles: functionRoles });
});

afterEach(() => world.stop());

const standing = () => readStanding(world.as.tick);

/** Plans something for one minute, makes its jobs, and advances to their time. */
async function madeAndDue(put: () => Promise<unknown>): Promise<void> {
  await put();
  await world.tick();
  await world.clock.setNow(due);
}

const once = `at ${due.toISOString()}`;

test("The plan is shown as done up to the watermark of the slowest shard", async () => {
  await world.sql`update carillon.shards set watermark_at = ${at(-hour)} where id = 3`;
  // With any other shard, the alarm would be silent while a sixteenth of all schedules does not
  // fire.
  expect((await standing()).plannedTo).toEqual(at(-hour));
});

test("A running job does not count as due", async () => {
  await madeAndDue(() => world.put("long", { when: once }));
  const [parcel] = await ids(world);
  await claimParcel(world.sql, parcel ?? "", lease);
  // Otherwise a job of ten minutes would raise the alarm for jobs that no worker claims.
  expect(await standing()).toMatchObject({ waiting: 0, due: 0, running: 1, oldestDueAt: null });
});

test("A job that becomes due while the counts are read is not due in them, with and without a prefix", async () => {
  await world.put("soon", { when: once });
  await world.tick();
  const { sql } = world;
  const slow = new Proxy(sql, {
    apply(target, of, args: Parameters<typeof sql>) {
      const statement = Reflect.apply(target, of, args);
      if (!/^\s*select carillon\.clock\(\) as now/.test(String(args[0]))) return statement;
      return statement.then(async (rows: object[]) => {
        await world.clock.setNow(at(due.getTime() - at(0).getTime() + 3 * second));
        return rows;
      });
    },
  });
  expect(await readStanding(slow)).toMatchObject({ now: at(0), waiting: 1, due: 0, oldestDueAt: null });
  await world.clock.setNow(at(0));
  const { now, jobs } = await readPrefixStats(slow, "so");
  expect({ now, jobs }).toMatchObject({ now: at(0), jobs: { waiting: 1, due: 0, oldestDueAt: null } });
});

test("A job that a hold keeps back counts as held, and not as due", async () => {
  await madeAndDue(() => world.put("paused", { when: once }));
  await world.pause("paused");
  await world.work();
  await world.clock.advance(hour);
  // Otherwise a pause of a weekend would raise the alarm for jobs that no worker claims.
  expect(await standing()).toMatchObject({ waiting: 1, held: 1, due: 0, oldestDueAt: null });
});

test.each(["normal", "high"])(
  "A job of %s priority that waits for its turn at a target counts as due from its due time on",
  async (priority) => {
    await madeAndDue(() => dueOnce(world, "a", 200, { target: { handler: "a" }, priority }));
    await world.sql`delete from carillon.parcels where turn is distinct from 'waits'`;
    await world.clock.advance(hour);
    // Its parcel has no time of its own: otherwise a stuck target would keep thousands of jobs
    // back, and no figure would show it.
    expect(await standing()).toMatchObject({ waiting: 160, due: 160, oldestDueAt: due });
  },
);

test("Occurrences in the backlog that are not admitted count as backlog", async () => {
  await world.put("owed", { when: "every 1h" });
  await world.sql`
    insert into carillon.backlog (schedule_id, shard, kind, version, occurrences, dues, turn_at, noted_at)
    select id, shard, 'cadence', version, o, o, 'infinity', carillon.clock()
    from carillon.schedules, (values (array[${at(-2 * hour)}, ${at(-hour)}]::timestamptz[]), (array[${at(-minute)}]::timestamptz[])) b (o)`;
  expect((await standing()).backlog).toEqual({ count: 3, more: false });
});

test("Rows in quarantine are counted up to ten thousand, with the time since which the oldest is there", async () => {
  expect((await standing()).quarantined).toEqual({ count: 0, more: false, oldestAt: null });
  await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  await world.clock.advance(minute);
  await setAside(world.sql, "ended", [{ item: "8", error: new Error("no") }]);
  await setAside(world.sql, "ended", [{ item: "7", error: new Error("no") }]);
  expect((await standing()).quarantined).toEqual({ count: 2, more: false, oldestAt: at(0) });
  await world.sql`
    insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
    select 'lease', n, 'no', carillon.clock(), carillon.clock(), 1, carillon.clock() from generate_series(1, 10000) n`;
  expect((await standing()).quarantined).toMatchObject({ count: 10_000, more: true });
});

test("A running parcel does not count as due if there are more jobs than are read", async () => {
  const parcel = (since: Date, jobs: number, leaseUntil: Date | null) => world.sql`
    insert into carillon.parcels (ready_at, offer_at, shard, queue, lease_until, claimed_at, occurrences, schedule_ids)
    select ${since}, ${since}, 0, 'fast', ${leaseUntil}::timestamptz, case when ${leaseUntil !== null} then carillon.clock() end, array_agg(${since}::timestamptz), array_agg(n)
    from generate_series(1, ${jobs}::int) n`;
  await parcel(at(-hour), 10_000, at(hour));
  await parcel(at(-minute), 10_000, null);
  expect(await standing()).toMatchObject({ running: 10_000, due: 10_000, oldestDueAt: at(-minute) });
});
