import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import type { Carillon } from "../support/carillon.ts";
import { minute } from "../support/instants.ts";
import { bad, zoneOfBad } from "./row-poisons.ts";
import { badSchedule, keysWhere, ofBad, putAll, type Scenario, together } from "./row-scenario.ts";

export const later = { when: "0 9 1 1 *" };

export async function putHolidays({ sql, queue }: Carillon, dates: string[], name = "c"): Promise<void> {
  const read = readCalendarRules({ dates });
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  const body = { description: null, rules: read.rules };
  await putCalendar({ sql, queue }, { name, body, caller: { name: "cal" } }, { most: 0, ms: 0 });
}

/**
 * As if an earlier runtime had planned the schedules with both zones one hour less ahead of UTC.
 */
async function plannedByEarlierZones(world: Carillon): Promise<void> {
  const { sql } = world;
  await sql`truncate carillon.zone_data, carillon.zone_updates, carillon.zone_moves`;
  await world.tick({ zoneData: "2026a" });
  const before = [
    [Date.UTC(2025, 0, 1), 8 * 60 * minute],
    [Date.UTC(2028, 0, 1), 9 * 60 * minute],
  ];
  await sql`
    update carillon.zone_data set rules = rules || ${JSON.stringify({ [zoneOfBad]: before, "Asia/Seoul": before })}::text::jsonb`;
  await sql`
    update carillon.plan_far set due_at = due_at + interval '1 hour', occurrence = occurrence + interval '1 hour'`;
}

/** Scenarios of consumers that apply holds, calendars and zones to schedules. */
export const holdScenarios = {
  "ended-hold": {
    consumer: "ended-hold",
    arrange: async (world) => {
      await putAll(world, later);
      await world.sql`
        insert into carillon.holds (schedule_id, owner, since, until)
        select id, 'ann', carillon.clock() - interval '2 hours', carillon.clock() - interval '1 hour' from carillon.schedules order by key`;
      await together(world);
    },
    spot: ofBad("holds"),
    done: (world) => keysWhere(world, "not exists (select from carillon.holds h where h.schedule_id = s.id)"),
  },
  "wanted-hold": {
    consumer: "wanted-hold",
    arrange: async (world) => {
      await putAll(world, later);
      await together(world);
      await world.sql`
        insert into carillon.wanted_holds (schedule_id, version, reason, at)
        select id, version, 'fails', carillon.clock() from carillon.schedules order by key`;
    },
    spot: badSchedule,
    done: (world) => keysWhere(world, "s.held_since is not null"),
  },
  "shared-hold": {
    consumer: "shared-hold",
    arrange: async (world) => {
      await putAll(world, { ...later, group: "shop" });
      await together(world);
      const label = { scope: "group", name: "shop" } as const;
      // The caller stops before any member was held.
      await pauseLabel(world, { label, caller: { name: "ann" } }, { most: 0, timeIsUp: () => false });
    },
    spot: badSchedule,
    done: (world) => keysWhere(world, "s.held_since is not null"),
  },
  "calendar-replan": {
    consumer: "calendar-replan",
    arrange: async (world) => {
      await putHolidays(world, []);
      await putAll(world, { ...later, calendar: { name: "c", on: "skip" } });
      await together(world);
      await putHolidays(world, ["2027-01-01"]);
    },
    spot: badSchedule,
    done: (world) => keysWhere(world, "s.version = 2"),
  },
  "zone-replan": {
    consumer: "zone-replan",
    arrange: async (world) => {
      await putAll(world, { ...later, timezone: "Asia/Seoul" });
      await world.put(bad, { ...later, timezone: zoneOfBad });
      await together(world);
      await plannedByEarlierZones(world);
    },
    spot: badSchedule,
    act: (world) => world.tick({ zoneData: "2026b" }),
    goOn: async (world) => {
      await world.clock.advance(10 * minute);
      await world.tick({ zoneData: "2026b" });
    },
    done: (world) => keysWhere(world, "exists (select from carillon.zone_moves m where m.key = s.key)"),
  },
} satisfies Record<string, Scenario>;
