import { afterAll, beforeAll, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { backfillSchedule } from "../../lib/job-control/backfill.ts";
import { fireNow } from "../../lib/job-control/fire-now.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { done, failed } from "../../lib/target/delivery.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

/**
 * The tables of schedules' rows that were written at some time, and those with a row whose shard is
 * not the schedule's.
 */
const written = new Set<string>();
const wrong = new Set<string>();
const tables = [
  ...[
    "schedule_versions",
    "holds",
    "plan",
    "plan_far",
    "backlog",
    "jobs",
    "jobs_beside",
    "attempts",
    "dead_jobs",
  ],
  ...["failure_runs", "wanted_holds", "passed_over"],
];
const caller = { name: "ann" };

let world: Carillon;

beforeAll(async () => {
  world = await carillon({ roles: functionRoles });
  await world.tick();
});

afterAll(() => world.stop());

async function checkRows(): Promise<void> {
  for (const table of tables) {
    const [found] = await world.sql<{ rows: number; astray: number }[]>`
      select count(*)::int as rows, count(*) filter (where t.shard is distinct from s.shard)::int as astray
      from carillon.${world.sql(table)} t join carillon.schedules s on s.id = t.schedule_id`;
    if (found === undefined) throw new Error(`The query about ${table} returned no row.`);
    if (found.rows > 0) written.add(table);
    if (found.astray > 0) wrong.add(`${table}: ${found.astray} of ${found.rows}`);
  }
}

async function live(until: number): Promise<void> {
  await world.clock.setNow(at(until));
  await world.tick();
  await checkRows();
  await world.work();
  await checkRows();
}

const deps = () => ({ sql: world.as.api, queue: world.queue });

test("the shard is the schedule's in every row that any part writes", { timeout: 60_000 }, async () => {
  const again = new Set(["again"]);
  world.outcome = ({ key }) => {
    if (key === "dies") return failed("no");
    return again.delete(key) ? { kind: "again", at: at(10 * minute) } : done;
  };
  await world.put("steady", { when: "every 1m" });
  await world.put("dies", { when: "every 1m", retry: { attempts: 2, base: "1s", max: "1s" }, holdAfter: 1 });
  await world.put("again", { when: "in 1m", target: { handler: "check" } });
  await world.put("catches-up", { when: "every 1m", catchUp: { policy: "all" } });
  await world.put("crashes", { when: "in 1m", target: { handler: "slow" } });
  await world.put("yearly", { when: "0 0 1 1 *" });
  await world.put("limited", { when: "every 1m", maxFires: 200 });
  await world.put("in-a-group", { when: "every 1m", group: "shop" });
  await world.put("let-go", { when: "every 1m" });
  await live(minute);
  await live(minute + 2 * second);

  await fireNow(deps(), { key: "steady", caller });
  await world.pause("steady", { reason: "a look" });
  await world.patch("steady", { when: "every 2m" });
  await pauseLabel(
    deps(),
    { label: { scope: "group", name: "shop" }, caller },
    { most: 1_000, timeIsUp: () => false },
  );
  await world.pause("let-go", { until: at(20 * minute) });
  await live(10 * minute);
  await world.resume("steady");
  await live(19 * minute);
  await live(21 * minute);
  // Hours without a tick.
  await live(9 * hour);
  await live(9 * hour + minute);
  // A backfill with more jobs than are made at once. The rest waits while the schedule is held, and
  // is passed over when the schedule is deleted.
  await world.pause("let-go");
  const params = { key: "let-go", from: at(hour), to: at(5 * hour), limit: 1_000, caller };
  expect(await backfillSchedule(deps(), params)).toMatchObject({ accepted: 241 });
  await checkRows();
  await live(9 * hour + 2 * minute);
  await world.remove("let-go");
  await live(9 * hour + 10 * minute);
  expect([...wrong]).toEqual([]);
  expect([...written].sort()).toEqual([...tables].sort());
});

test("the shard is the schedule's in the rows that a crashed worker leaves", async () => {
  await world.put("crashed", { when: "in 1m", target: { handler: "slow" } });
  await world.clock.advance(minute);
  await world.tick();
  const [parcel] = await world.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.schedules s on s.id = any(p.schedule_ids) where s.key = 'crashed'`;
  await claimParcel(world.as.worker, parcel?.id ?? "", 30 * second);
  await world.clock.advance(2 * minute);
  await world.tick();
  await world.work();
  const left = await world.sql<{ outcome: string; own: boolean }[]>`
    select a.outcome, a.shard = s.shard as own from carillon.attempts a join carillon.schedules s on s.id = a.schedule_id
    where s.key = 'crashed' order by a.attempt`;
  expect(left).toEqual([
    { outcome: "crashed", own: true },
    { outcome: "succeeded", own: true },
  ]);
});
