import { changeMany } from "../batch/bulk-change.ts";
import type { Tx } from "../db/connect.ts";
import type { EditDeps } from "../edit/edit-transaction.ts";
import type { Log } from "../log/log.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { sealedMark } from "../schedule/shape/sealed-text.ts";
import { findMove, type Move } from "./moves.ts";

/** The owner of the hold that a move sets on each schedule before it takes it. */
export const holdOwner = ({ id }: Pick<Move, "id">): string => `move ${id}`;

/** Why a schedule cannot be moved now. */
export type Stuck =
  /** One of its jobs, or of its lane, is under way. It passes by itself. */
  | "running"
  /** It has no hold of the move: it is new, or a person has released it. */
  | "unfrozen"
  /** Others of its lane are outside of the prefix. */
  | "group"
  /** Only the function that sends webhooks can read its credentials. */
  | "credentials"
  /** It is in quarantine, or its stored spec cannot be read. */
  | "unreadable"
  /** It has more open jobs than can be moved. */
  | "jobs"
  /** An edit was refused, for example because the schedule has the most holds. */
  | "refused";

export interface StuckSchedule {
  id: string;
  key: string;
  why: Stuck;
  detail?: string;
}

export interface Frozen {
  /** Ids of schedules under the hold of the move, also of those that had it before. */
  ids: string[];
  stuck: StuckSchedule[];
  /** The key after which the next page begins; null if this was the last. */
  next: string | null;
}

interface Row {
  id: string;
  key: string;
  lane: string | null;
  sealed: boolean;
}

/** Members of one lane that are frozen together at most. */
export const laneMax = 5_000;

/**
 * Holds the next schedules of the prefix, by key, and with each of them all that share a lane with
 * it: jobs of one lane never run in two installations at once.
 */
export async function freezeNext(
  deps: EditDeps & { log: Log },
  { id, after, limit, caller }: { id: string; after: string; limit: number; caller: Caller },
): Promise<Frozen> {
  const move = await findMove(deps.sql, id, "out");
  const page = await nextOf(deps.sql, move.prefix, after, limit);
  const { members, beyond } = await withLanes(deps.sql, move.prefix, page);
  const stuck: StuckSchedule[] = [];
  const wanted = members.filter(({ id, key, lane, sealed }) => {
    const why = lane !== null && beyond.has(lane) ? "group" : sealed ? "credentials" : null;
    if (why !== null) stuck.push({ id, key, why });
    return why === null;
  });
  const keys = wanted.map(({ key }) => key);
  const owner = holdOwner(move);
  await thaw(deps, { owner, stuck, caller });
  let isCut = false;
  if (keys.length > 0) {
    const reason = `The schedule is being moved to ${move.peer}.`;
    const { failures, failed } = await changeMany(deps, {
      filter: { keys },
      change: { verb: "pause", owner },
      reason,
      caller,
    });
    const ids = new Map(wanted.map((each) => [each.key, each.id]));
    for (const { key, message } of failures)
      stuck.push({ id: ids.get(key) ?? "", key, why: "refused", detail: message });
    // Only the first failures come with their keys.
    isCut = failed > failures.length;
  }
  const ids = await heldBy(
    deps.sql,
    owner,
    wanted.map((each) => each.id),
  );
  const held = new Set(ids);
  const told = new Set(stuck.map(({ key }) => key));
  for (const { id, key } of wanted)
    if (!held.has(id) && !told.has(key)) stuck.push({ id, key, why: isCut ? "refused" : "unfrozen" });
  const next = page.length < limit ? null : (page.at(-1)?.key ?? null);
  return { ids, stuck, next };
}

/**
 * Releases schedules that the move had stopped before they became impossible to move. They would stand
 * still until the end of the move: another team could bring that about, by a schedule in their group.
 */
async function thaw(
  deps: EditDeps & { log: Log },
  { owner, stuck, caller }: { owner: string; stuck: readonly StuckSchedule[]; caller: Caller },
): Promise<void> {
  if (stuck.length === 0) return;
  const held = new Set(
    await heldBy(
      deps.sql,
      owner,
      stuck.map(({ id }) => id),
    ),
  );
  const keys = stuck.filter(({ id }) => held.has(id)).map(({ key }) => key);
  if (keys.length === 0) return;
  const reason = "The schedule cannot be moved now.";
  await changeMany(deps, { filter: { keys }, change: { verb: "resume", owner }, reason, caller });
}

const rowColumns = (tx: Tx) => tx`
  s.id, s.key, s.lane, position(${`"${sealedMark}`} in coalesce(v.target::text, '')) > 0 as sealed`;

function nextOf(tx: Tx, prefix: string, after: string, limit: number): PromiseLike<Row[]> {
  return tx<Row[]>`
    select ${rowColumns(tx)} from (
      select id, key, lane, spec_version from carillon.schedules
      where deleted_at is null and key > ${after} and key >= ${prefix} and key < ${prefix + highestCharacter}
      order by key limit ${limit}) s
    left join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    order by s.key`;
}

/** The schedules and all that share a lane with one of them. `beyond`: lanes that cannot be moved as a whole. */
async function withLanes(
  tx: Tx,
  prefix: string,
  page: readonly Row[],
): Promise<{ members: readonly Row[]; beyond: ReadonlySet<string> }> {
  const lanes = [...new Set(page.flatMap(({ lane }) => lane ?? []))];
  if (lanes.length === 0) return { members: page, beyond: new Set() };
  const groups = await tx<Row[]>`
    select ${rowColumns(tx)} from (
      select distinct group_key from carillon.schedules where id = any(${page.map(({ id }) => id)}::bigint[]) and lane is not null) g
    cross join lateral (
      select id, key, lane, spec_version from carillon.schedules
      where group_key = g.group_key and deleted_at is null order by key limit ${laneMax + 1}) s
    left join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.lane = any(${lanes}::text[])`;
  const members = new Map([...page, ...groups].map((each) => [each.id, each]));
  const beyond = new Set<string>();
  for (const [lane, ofLane] of Map.groupBy(groups, (each) => each.lane ?? ""))
    if (ofLane.length > laneMax || ofLane.some(({ key, sealed }) => sealed || !key.startsWith(prefix)))
      beyond.add(lane);
  return { members: [...members.values()].filter(({ key }) => key.startsWith(prefix)), beyond };
}

/** Those of these schedules that the move holds. */
async function heldBy(tx: Tx, owner: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select schedule_id as id from carillon.holds
    where schedule_id = any(${[...ids]}::bigint[]) and scope = 'schedule' and name = '' and owner = ${owner}`;
  return rows.map(({ id }) => id);
}
