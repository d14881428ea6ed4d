import type { Acceptance } from "../command/acceptance.ts";
import type { Tx } from "../db/connect.ts";
import { lockTeams } from "../db/locks.ts";
import { editConflicts, isEditConflict } from "../edit/edit-conflicts.ts";
import { addTeams, type EditDeps } from "../edit/edit-transaction.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { TeamNotLocked } from "../quota/quota-check.ts";
import { Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { beginHere, jobsHere } from "./begin-here.ts";
import { type MovedPart, movedPartShape } from "./moved-doc.ts";
import { findMove, type Move, openMove } from "./moves.ts";

export type ArrivalDeps = EditDeps & { accept: Acceptance };

/** `here`: an earlier request brought the part. `refused`: its source has the schedule back. */
export type Arrived = "arrived" | "here" | "refused";

/**
 * Takes in a part of a schedule, in one transaction. A part that comes again changes nothing, so
 * the driver of the move may repeat it. Throws a Refusal if the schedule cannot be here.
 */
export async function arrivePart(
  deps: ArrivalDeps,
  { id, part, caller }: { id: string; part: MovedPart; caller: Caller },
): Promise<Arrived> {
  return withTeams(deps, async (tx, teams) => {
    const move = await openMove(tx, id, "in");
    const before = await noteArrival(tx, move, part);
    if (before !== null) return { done: before, parcels: [] };
    const { scheduleId, parcels } =
      part.schedule === null
        ? await continueHere(tx, move, part)
        : await beginHere(tx, { accept: deps.accept, move, schedule: part.schedule, part, caller, teams });
    await tx`
      update carillon.arrived_schedules set schedule_id = ${scheduleId}
      where move_id = ${id} and source_id = ${part.id} and part = ${part.part}`;
    return { done: "arrived", parcels };
  });
}

type Inside<Done> = (
  tx: Tx,
  teams: ReadonlySet<string>,
) => Promise<{ done: Done; parcels: readonly OutgoingParcel[] }>;

/** A transaction that begins again with the teams locked whose quotas it may use up. */
async function withTeams<Done>({ sql, queue }: EditDeps, work: Inside<Done>): Promise<Done> {
  const teams = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    try {
      const { done, parcels } = await sql.begin(async (tx) => {
        await lockTeams(tx, teams);
        return work(tx, teams);
      });
      await handOver(sql, queue, parcels);
      return done;
    } catch (error) {
      addTeams(teams, error);
      const isLast = attempt >= editConflicts.attempts && !(error instanceof TeamNotLocked);
      if (!isEditConflict(error) || isLast) throw error;
    }
  }
}

/** Null if this transaction is the first to bring the part. Another one with the same part waits here. */
async function noteArrival(tx: Tx, { id }: Move, { id: sourceId, part }: MovedPart): Promise<Arrived | null> {
  const noted = await tx`
    insert into carillon.arrived_schedules (move_id, source_id, part, arrived_at)
    values (${id}, ${sourceId}, ${part}, carillon.clock()) on conflict do nothing`;
  if (noted.count === 1) return null;
  return (await scheduleOf(tx, id, { sourceId, part })) === null ? "refused" : "here";
}

/** The schedule here; null if there is none. */
async function scheduleOf(
  tx: Tx,
  id: string,
  { sourceId, part }: { sourceId: string; part: number },
): Promise<string | null> {
  const [row] = await tx<{ scheduleId: string | null }[]>`
    select schedule_id as "scheduleId" from carillon.arrived_schedules where move_id = ${id} and source_id = ${sourceId} and part = ${part}`;
  return row?.scheduleId ?? null;
}

async function continueHere(
  tx: Tx,
  { id }: Move,
  part: MovedPart,
): Promise<{ scheduleId: string; parcels: OutgoingParcel[] }> {
  const scheduleId = await scheduleOf(tx, id, { sourceId: part.id, part: 0 });
  if (scheduleId !== null) return { scheduleId, parcels: await jobsHere(tx, { scheduleId, ...part }) };
  throw new Refusal(
    "conflict",
    `Part 0 of the schedule ${part.id} is not here: send the parts in their order.`,
  );
}

/**
 * Notes that a schedule will not arrive, so that its source may have it back: a part of it that comes
 * late is not taken in. False if the schedule is here.
 */
export function refuseArrival(
  { sql }: Pick<EditDeps, "sql">,
  { id, schedule }: { id: string; schedule: string },
): Promise<boolean> {
  return sql.begin(async (tx) => {
    await tx`select from carillon.moves where id = ${id} for share`;
    // By a move that has ended no part arrives any more, so there is nothing to note.
    if ((await findMove(tx, id, "in")).endedAt === null)
      await tx`
        insert into carillon.arrived_schedules (move_id, source_id, part, arrived_at)
        values (${id}, ${schedule}, 0, carillon.clock()) on conflict do nothing`;
    return (await scheduleOf(tx, id, { sourceId: schedule, part: 0 })) === null;
  });
}

/**
 * Takes a schedule back that the other installation has refused to take in, as a schedule with a new
 * number. It runs again at once. False if the move does not have it any more.
 */
export function takeBack(
  deps: ArrivalDeps,
  { id, schedule, caller }: { id: string; schedule: string; caller: Caller },
): Promise<boolean> {
  return withTeams(deps, async (tx, teams) => {
    const move = await openMove(tx, id, "out");
    const rows = await tx<{ doc: unknown }[]>`
      delete from carillon.moved_schedules where move_id = ${id} and schedule_id = ${schedule} returning doc, part`;
    const parts = rows.map(({ doc }) => movedPartShape.parse(doc)).sort((a, b) => a.part - b.part);
    const [first, ...others] = parts;
    if (first === undefined || first.schedule === null) return { done: false, parcels: [] };
    const back = { accept: deps.accept, move, schedule: first.schedule, part: first, caller, teams };
    const { scheduleId, parcels } = await beginHere(tx, back);
    for (const part of others) parcels.push(...(await jobsHere(tx, { scheduleId, ...part })));
    return { done: true, parcels };
  });
}
