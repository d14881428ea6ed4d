import type { Sql } from "../../lib/db/connect.ts";
import { patchSchedule, putSchedule } from "../../lib/edit/schedule-edits.ts";
import { pauseSchedule } from "../../lib/edit/schedule-holds.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { unknownZone } from "../poison/plan-steps.ts";
import type { Moment } from "./fuse.ts";
import type { CrashWorld } from "./world.ts";

/** A preparation, and the part during which a process dies at each of the operations. */
export interface Scenario {
  name: string;
  /** A run tries one of this many moments. */
  oneOf: number;
  /** Moments that every run tries. Default: those before a message is sent. */
  isDecisive?: (moment: Moment) => boolean;
  /** Further moments of this scenario after which an effect may repeat. */
  mayRepeat?: (moment: Moment) => boolean;
  prepare(world: CrashWorld): Promise<void>;
  act(world: CrashWorld): Promise<void>;
}

export const caller = { name: "ann" };
export const slow = { handler: "demo" };
export const second = 1_000;
export const minute = 60_000;
let edits = 0;

/** A different payload for each edit, by which the oracle tells them apart. */
export const nextEdit = () => ({ edit: ++edits });

export function put(
  world: CrashWorld,
  key: string,
  when: string,
  target: { queue: string } | { handler: string } = { queue: "demo" },
  rules: object = {},
) {
  const retry = { attempts: 100, base: "5s", max: "5s" };
  const body = parseScheduleBody({ when, target, payload: nextEdit(), retry, timeout: "10s", ...rules });
  return world.edit(`put ${key}`, (deps) => putSchedule(deps, { key, caller, body }));
}

export function patch(world: CrashWorld, key: string, change: object = {}) {
  return world.edit(`patch ${key}`, (deps) =>
    patchSchedule(deps, { key, caller, patch: { payload: nextEdit(), ...change } }),
  );
}

export function pause(world: CrashWorld, key: string, until?: Date) {
  return world.edit(`pause ${key}`, (deps) => pauseSchedule(deps, { key, caller, until }));
}

export const later = ({ clock }: CrashWorld, ms: number) => new Date(clock.now().getTime() + ms);

/** Crons in this zone have the same instants as in the oracle, which does not know zones. */
export const zoned = { timezone: "Asia/Tokyo" };

export function spoilZone(world: CrashWorld): Promise<void> {
  return world.beside((sql) => rename(sql, zoned.timezone, unknownZone));
}

export function mendZone(world: CrashWorld): Promise<void> {
  return world.beside((sql) => rename(sql, unknownZone, zoned.timezone));
}

const rename = (sql: Sql, from: string, to: string) =>
  sql`update carillon.cadences set timezone = ${to} where timezone = ${from}`;

/** Makes every insert or update of these schedules' jobs fail until it is mended. */
export function refuseJobs(
  world: CrashWorld,
  keys: readonly string[],
  event: "insert" | "update" = "insert",
): Promise<void> {
  return world.beside(async (sql) => {
    const ids = await sql<
      { id: string }[]
    >`select id from carillon.schedules where key = any(${[...keys]}::text[])`;
    await sql.unsafe(`
      create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
      create trigger refuse before ${event} on carillon.jobs for each row
        when (new.schedule_id in (${ids.map(({ id }) => id).join(", ")})) execute function public.refuse()`);
  });
}

export const mendJobs = (world: CrashWorld) =>
  world.beside((sql) => sql`drop trigger refuse on carillon.jobs`);
