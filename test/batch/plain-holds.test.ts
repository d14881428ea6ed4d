import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pauseLabel, resumeLabel, type SharedPauseParams } from "../../lib/batch/label-holds.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const shop = { label: { scope: "group", name: "shop" }, caller: { name: "ann" } } as const;
const deps = () => ({ sql: world.sql, queue: world.queue });
const pause = (params: Partial<SharedPauseParams> = {}) => pauseLabel(deps(), { ...shop, ...params });
const resume = () => resumeLabel(deps(), shop);

describe("holds of a group", () => {
  const kinds: [string, object][] = [
    ["an interval", { when: "every 1m" }],
    ["a cron", { when: "*/5 * * * *" }],
    ["a run weeks ahead", { when: "0 9 1 * *" }],
    ["a run that is due soon", { when: "in 90s" }],
    ["a run that is over", { when: "at 2026-03-02T09:59:30" }],
    ["an end", { when: "every 1m", endsAt: "2026-03-02T10:04:00Z" }],
    ["a limit of fires", { when: "every 1m", maxFires: 4 }],
    ["a slot", { when: "every 1m", slot: "5m" }],
    ["catch-up of all occurrences", { when: "every 1m", catchUp: { policy: "all" } }],
    ["a lane", { when: "every 1m", overlap: "queue" }],
    ["another hold", { when: "every 1m", paused: true }],
  ];

  const traces = async (key: string) => {
    const [schedule] = await world.sql<
      { id: string }[]
    >`select id from carillon.schedules where key = ${key}`;
    const id = schedule?.id ?? "";
    const at = world.sql`schedule_id = ${id}`;
    const current = world.sql`version = (select version from carillon.schedules where id = ${id})`;
    return {
      head: await world.sql`select version, held_since, held_until, fires, updated_at from carillon.schedules where id = ${id}`,
      versions: await world.sql`
        select version, spec_version, change, changed_at, changed_by, held, held_until from carillon.schedule_versions where ${at} order by 1`,
      planned: await world.sql`
        select due_at, occurrence, every_ms, version, cadence_id, governed from carillon.plan where ${at} and ${current}
        union all select due_at, occurrence, every_ms, version, cadence_id, governed from carillon.plan_far where ${at} and ${current} order by 1, 2`,
      jobs: await world.sql`
        select occurrence, due_at, ready_at, state, reason, version from carillon.jobs where ${at} order by 1`,
      parked: await world.sql`
        select ready_at, held_schedule is not null as held, occurrences from carillon.parcels where schedule_ids[1] = ${id} order by occurrences`,
      passed:
        await world.sql`select from_at, to_at, count, reason from carillon.passed_over where ${at} order by 1`,
      holds:
        await world.sql`select owner, reason, until, since from carillon.holds where ${at} order by owner`,
      audit: await world.sql`select at, actor, action, version from carillon.audit where ${at} order by id`,
    };
  };

  describe.each([
    ["for ever", {}],
    ["for an hour", { until: at(hour) }],
    ["for less than the horizon", { until: at(2 * minute) }],
  ])("holds of a group %s", (_, params) => {
    test.each(kinds)(
      "a group's hold has the same result for a schedule with %s as the schedule's own hold",
      async (__, body) => {
        await world.put("alone", body, "bob");
        await world.put("member", { ...body, group: "shop" }, "bob");
        await world.tick();
        await world.clock.advance(20 * second);
        const same = async () => expect(await traces("member")).toEqual(await traces("alone"));
        await world.pause("alone", { reason: "why", ...params });
        await pause({ reason: "why", ...params });
        await same();
        await world.clock.advance(70 * second);
        await world.tick();
        await same();
        await world.resume("alone");
        await resume();
        await same();
        await world.pause("alone");
        await pause();
        await world.clock.advance(10 * minute);
        await world.resume("alone");
        await resume();
        await same();
        for (const until of [at(2 * hour), at(90 * minute), undefined, at(3 * hour)]) {
          await world.pause("alone", until === undefined ? {} : { until });
          await pause({ until });
          await same();
          await world.clock.advance(minute);
          await world.tick();
        }
        await world.resume("alone");
        await resume();
        await same();
      },
    );
  });
});
