import type { Clock } from "../../lib/clock.ts";
import type { ClaimedJob } from "../../lib/parcel/claimed-job.ts";
import { type Deliver, type Delivery, done } from "../../lib/target/delivery.ts";
import type { Carillon } from "../support/carillon.ts";

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
