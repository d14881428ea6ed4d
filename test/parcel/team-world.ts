import type { Clock } from "../../lib/clock.ts";
import { setLimits } from "../../lib/limit/limits.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { type Deliver, type Delivery, done } from "../../lib/target/delivery.ts";
import type { Carillon } from "../support/carillon.ts";
import { due, dueOnce } from "./limit-world.ts";

/** Gives the schedules of this name to a team, and returns the team's id. */
export async function teamOf({ sql }: Carillon, name: string, weight = 1): Promise<number> {
  await sql`select carillon.keep_team(${`${name}-`})`;
  const [team] = await sql<{ id: number }[]>`
    update carillon.teams set weight = ${weight} where prefix = ${`${name}-`} returning id`;
  if (team === undefined) throw new Error("The team has no row.");
  await sql`update carillon.schedules set team_id = ${team.id} where starts_with(key, ${`${name}-`})`;
  return team.id;
}

export async function inOneShard({ sql }: Carillon): Promise<void> {
  await sql`update carillon.schedules set shard = 0`;
  await sql`update carillon.plan set shard = 0`;
}

/** A job that was delivered: the first part of its key, and how late. */
export interface FamilyDelivery {
  family: string;
  lateMs: number;
}

/** Jobs run side by side in the places of their parcel, each for the same time, and are noted. */
export function takes(
  deliveries: FamilyDelivery[],
  ms: number,
  ends: (job: ClaimedJob) => Delivery = () => done,
) {
  return (clock: Clock): Deliver =>
    async (jobs, { places }) => {
      const outcomes = new Map<ClaimedJob, Delivery>();
      const waiting = jobs.values();
      const next = async () => {
        for (const job of waiting) {
          if (!(await places.take())) return;
          const family = job.key.slice(0, job.key.indexOf("-"));
          deliveries.push({ family, lateMs: clock.now().getTime() - job.dueAt.getTime() });
          await clock.sleep(ms);
          places.giveBack();
          outcomes.set(job, ends(job));
        }
      };
      await Promise.all(Array.from({ length: places.count }, next));
      return jobs.map((job) => outcomes.get(job) ?? { kind: "back" });
    };
}

/** How many jobs of a family were delivered. */
export const countOf = (deliveries: readonly FamilyDelivery[], family: string): number =>
  deliveries.filter((each) => each.family === family).length;

/** The lateness of its latest job. */
export const worstOf = (deliveries: readonly FamilyDelivery[], family: string): number =>
  Math.max(...deliveries.filter((each) => each.family === family).map(({ lateMs }) => lateMs));

/** The teams of the parcels whose turns come next at the handler `shared`; 0 for none. */
export const turnsAt = ({ sql }: Carillon, now: Date, most: number) => sql<{ team: number }[]>`
  select coalesce(p.team_id, 0) as team
  from carillon.due_turns((select id from carillon.targets where name = 'handler/shared'), ${now}, ${most}) with ordinality d (id, jobs, n)
  join carillon.parcels p on p.id = d.id order by d.n`;

/** All parcels wait for their turns. */
export const allWait = ({ sql }: Carillon) => sql`
  update carillon.parcels p set turn = 'waits', slots = null, turn_at = carillon.turn_place(l.due_at, p.priority), waited_at = l.due_at, ready_at = 'infinity', offer_at = 'infinity'
  from (select j.parcel_id, min(j.due_at) as due_at from carillon.jobs j group by 1) l where l.parcel_id = p.id`;

/** The handler `shared`, at which teams meet. */
export const shared = { target: { handler: "shared" } };

/** Limits a target, and with it the places of one team. */
export const limitTeams = (
  world: Carillon,
  concurrency: number,
  perTeam: number | null,
  target = "handler/shared",
) => setLimits(world, { target, limits: { concurrency, perTeam, rate: null }, caller: { name: "ann" } });

/**
 * Gives each family a team of its own and this number of jobs, of one shard, and returns the parcels
 * that are ready, in the order of the families.
 */
export async function parcelsOfTeams(
  world: Carillon,
  families: readonly string[],
  jobs = 10,
  body: object = shared,
): Promise<string[]> {
  for (const family of families) {
    await dueOnce(world, family, jobs, body);
    await teamOf(world, family);
  }
  await inOneShard(world);
  await world.tick();
  world.queue.messages = [];
  await world.clock.setNow(due);
  const rows = await world.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1] where p.turn is null
    order by array_position(${families}::text[], split_part(s.key, '-', 1)), p.id`;
  return rows.map(({ id }) => id);
}

/** How many places each family has at its target. */
export async function placesOf({ sql }: Carillon): Promise<Record<string, number>> {
  const rows = await sql<{ family: string; slots: number }[]>`
    select split_part(s.key, '-', 1) as family, sum(p.slots)::int as slots
    from carillon.parcels p join carillon.schedules s on s.id = p.schedule_ids[1] where p.slots is not null group by 1 order by 1`;
  return Object.fromEntries(rows.map(({ family, slots }) => [family, slots]));
}
