import type { Acceptance } from "../command/acceptance.ts";
import { boundStatements } from "../db/bounded.ts";
import type { Tx } from "../db/connect.ts";
import { lockTeams } from "../db/locks.ts";
import { editConflicts, isEditConflict } from "../edit/edit-conflicts.ts";
import { addTeams, type EditDeps } from "../edit/edit-transaction.ts";
import { RestartTransaction } from "../edit/restart-transaction.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { unfoldingInTime } from "../plan/unfolding-time.ts";
import { FewerFit } from "../quarantine/in-halves.ts";
import { TeamNotLocked } from "../quota/quota-check.ts";
import { Refusal } from "../refusal.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { beginHere, jobsHere } from "./begin-here.ts";
import { type Arriving, decideArrivals, type FirstPart, isFirst, liveKeys } from "./decide-arrivals.ts";
import type { PartName } from "./hand-over-parts.ts";
import { type MovedPart, movedPartShape } from "./moved-doc.ts";
import { findMove, openMove } from "./moves.ts";

export type ArrivalDeps = EditDeps & { accept: Acceptance };

/** `here`: an earlier request brought the part. `refused`: its source has the schedule back. */
export type Arrived = "arrived" | "here" | "refused";

/** The result for a part, as plain data: a request that may be repeated keeps it. `impossible`: it cannot be here. */
export interface Became {
  became: Arrived | "impossible";
  refusal?: string;
}

export function refusedAs({ message, faults }: Refusal): Became {
  const texts = faults.map((fault) => `${fault.path} ${fault.message}`);
  return { became: "impossible", refusal: [message, ...texts].join(" ") };
}

/**
 * Limits of a transaction of several schedules: of each statement, and of all before the last step.
 * One that takes longer leaves time to bring its schedules one by one.
 */
const togetherMsMax = { statement: 3_000, all: 4_000 };

/**
 * Takes in schedules with their first parts, in one transaction. Returns the results by the numbers of
 * the schedules in the other installation. Their keys and numbers differ. A part that comes again
 * changes nothing, so the driver of the move may repeat it.
 */
export function arriveTogether(
  deps: ArrivalDeps,
  { id, parts, caller }: { id: string; parts: readonly FirstPart[]; caller: Caller },
): Promise<ReadonlyMap<string, Became>> {
  const inTime = timeOf(deps, parts.length);
  return withTeams(deps, parts.length, async (tx, teams) => {
    const move = await openMove(tx, id, "in");
    const arriving = parts.map((part): Arriving => ({ part, schedule: part.schedule }));
    // Before the arrivals are read: a key that another request has just brought is known there.
    const live = await liveKeys(tx, arriving);
    const done = new Map<string, Became>();
    for (const [source, became] of await arrivalsOf(tx, id, parts)) done.set(source, { became });
    const missing = arriving.filter(({ part }) => !done.has(part.id));
    if (missing.length === 0) return { done, parcels: [] };
    const asked = { accept: deps.accept, move, caller, teams, live };
    const { admitted, refused, known } = await decideArrivals(tx, missing, asked);
    const noted = admitted.map(({ part, scheduleId }) => ({ ...part, scheduleId }));
    await noteArrivals(tx, id, noted);
    const parcels = await beginHere(tx, admitted, { move, caller, known, inTime });
    for (const [source, refusal] of refused) done.set(source, refusedAs(refusal));
    for (const { part } of admitted) done.set(part.id, { became: "arrived" });
    return { done, parcels };
  });
}

/** Throws once several schedules have taken too long together. A single schedule goes on. */
function timeOf({ queue: { timing } }: EditDeps, schedules: number): () => void {
  const until = timing.now() + togetherMsMax.all;
  return () => {
    if (schedules > 1 && timing.now() > until)
      throw new FewerFit(`To bring ${schedules} schedules takes more than ${togetherMsMax.all} ms.`, 1);
  };
}

/** Takes in a further part of a schedule that is here. Throws a Refusal if it is not. */
export function arriveLater(
  deps: ArrivalDeps,
  { id, part }: { id: string; part: MovedPart },
): Promise<Arrived> {
  return withTeams(deps, 1, async (tx) => {
    await openMove(tx, id, "in");
    const before = (await arrivalsOf(tx, id, [part])).get(part.id);
    if (before !== undefined) return { done: before, parcels: [] };
    const scheduleId = await scheduleOf(tx, id, part.id);
    if (scheduleId === null)
      throw new Refusal(
        "conflict",
        `Part 0 of the schedule ${part.id} is not here: send the parts in their order.`,
      );
    await noteArrivals(tx, id, [{ ...part, scheduleId }]);
    return { done: "arrived", parcels: await jobsHere(tx, { scheduleId, ...part }) };
  });
}

type Inside<Done> = (
  tx: Tx,
  teams: ReadonlySet<string>,
) => Promise<{ done: Done; parcels: readonly OutgoingParcel[] }>;

/**
 * A transaction of some schedules that begins again with the teams locked whose quotas it may use
 * up.
 */
async function withTeams<Done>(
  { sql, queue }: EditDeps,
  schedules: number,
  work: Inside<Done>,
): Promise<Done> {
  const teams = new Set<string>();
  const once = () =>
    sql.begin(async (tx) => {
      if (schedules > 1) await boundStatements(tx, togetherMsMax.statement);
      await lockTeams(tx, teams);
      return work(tx, teams);
    });
  for (let attempt = 1; ; attempt++) {
    try {
      const { done, parcels } = await unfoldingInTime(queue.timing, schedules, once);
      await handOver(sql, queue, parcels);
      return done;
    } catch (error) {
      addTeams(teams, error);
      const isLast = attempt >= editConflicts.attempts && !(error instanceof TeamNotLocked);
      if (!isEditConflict(error) || isLast) throw error;
    }
  }
}

/** Those of these parts, each of another schedule, that an earlier request has brought or refused. */
async function arrivalsOf(
  tx: Tx,
  moveId: string,
  parts: readonly PartName[],
): Promise<Map<string, "here" | "refused">> {
  const rows = await tx<{ id: string; here: boolean }[]>`
    select a.source_id as id, a.schedule_id is not null as here
    from unnest(${parts.map(({ id }) => id)}::bigint[], ${parts.map(({ part }) => part)}::int[]) p (id, part)
    join carillon.arrived_schedules a on a.move_id = ${moveId} and a.source_id = p.id and a.part = p.part`;
  return new Map(rows.map(({ id, here }) => [id, here ? "here" : "refused"]));
}

/** Notes parts that are new here. If another transaction has noted one meanwhile, this one begins again. */
async function noteArrivals(
  tx: Tx,
  moveId: string,
  parts: readonly (PartName & { scheduleId: string })[],
): Promise<void> {
  if (parts.length === 0) return;
  const noted = await tx`
    insert into carillon.arrived_schedules (move_id, source_id, part, schedule_id, arrived_at)
    select ${moveId}, p.id, p.part, p.schedule_id, carillon.clock()
    from unnest(${parts.map(({ id }) => id)}::bigint[], ${parts.map(({ part }) => part)}::int[],
      ${parts.map(({ scheduleId }) => scheduleId)}::bigint[]) p (id, part, schedule_id)
    order by p.id, p.part on conflict do nothing`;
  if (noted.count < parts.length) throw new RestartTransaction();
}

/** The schedule here of which the move has brought the first part; null if there is none. */
async function scheduleOf(tx: Tx, moveId: string, sourceId: string): Promise<string | null> {
  const [row] = await tx<{ scheduleId: string | null }[]>`
    select schedule_id as "scheduleId" from carillon.arrived_schedules where move_id = ${moveId} and source_id = ${sourceId} and part = 0`;
  return row?.scheduleId ?? null;
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
    return (await scheduleOf(tx, id, schedule)) === null;
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
  return withTeams(deps, 1, async (tx, teams) => {
    const move = await openMove(tx, id, "out");
    const rows = await tx<{ doc: unknown }[]>`
      delete from carillon.moved_schedules where move_id = ${id} and schedule_id = ${schedule} returning doc, part`;
    const parts = rows.map(({ doc }) => movedPartShape.parse(doc)).sort((a, b) => a.part - b.part);
    const [first, ...others] = parts;
    if (first === undefined || !isFirst(first)) return { done: false, parcels: [] };
    const arriving = [{ part: first, schedule: first.schedule }];
    const live = await liveKeys(tx, arriving);
    const asked = { accept: deps.accept, move, caller, teams, live };
    const { admitted, refused, known } = await decideArrivals(tx, arriving, asked);
    const [back] = admitted;
    if (back === undefined) throw refused.get(first.id) ?? new Error(`Schedule ${schedule} was not decided.`);
    const parcels = await beginHere(tx, admitted, { move, caller, known, inTime: () => {} });
    for (const part of others)
      parcels.push(...(await jobsHere(tx, { scheduleId: back.scheduleId, ...part })));
    return { done: true, parcels };
  });
}
