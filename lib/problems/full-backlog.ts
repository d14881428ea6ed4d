import { windowMaxMs } from "../agenda/window.ts";
import { isoInstant } from "../cadence/zone/civil.ts";
import type { Tx } from "../db/connect.ts";
import { BacklogRoom, backlogBudget, type Line, owedUnderWay, type UnderWay } from "../plan/backlog-room.ts";
import { teamsUnder } from "../quota/teams-of-prefix.ts";
import { highestCharacter } from "../schedule/filter-schedules.ts";
import { amountText, grouped, type Problem, problem } from "./problem.ts";

/** Rows of the backlog that are looked at, those that have waited longest for their turn. */
const turnsMax = 100_000;
/** Rows of them whose schedules are read. */
export const rowsMax = 10_000;
/** Targets that are returned. */
const targetsMax = 20;

/** Occurrences that wait, and the oldest of them. */
interface Waiting {
  /** Null for all targets that share parcels. */
  name: string | null;
  owing: number;
  first: Date;
  since: Date;
  /** The key of one of the schedules. */
  sample: string;
}

type WaitingLine = Waiting & Line;

interface Looked<Item> {
  items: Item[];
  /** Not all rows that wait were looked at. */
  more: boolean;
}

export interface FullSearch {
  now: Date;
  /** Rows that have waited for less are left out. */
  lateMs: number;
  prefix: string | null;
}

/**
 * The targets at which missed occurrences wait in the backlog because jobs that do not end use up the
 * share of their team. Backfills and paused schedules are left out.
 */
export async function readFullBacklog(tx: Tx, search: FullSearch): Promise<Looked<Waiting>> {
  const { items, more } = await readWaitingLines(tx, search);
  if (items.length === 0) return { items, more };
  // A job that became ready a moment ago, or soon will, is on its way.
  const stuck = tx`ready_at not between (select carillon.clock()) - interval '1 minute' and (select carillon.clock()) + interval '1 minute'`;
  const room = new BacklogRoom(backlogBudget, await tx<UnderWay[]>`${owedUnderWay(tx, stuck)}`);
  const byTarget = Map.groupBy(
    items.filter((line) => room.isShort(line)),
    ({ name }) => name,
  );
  const full = [...byTarget.values()].map((lines) => lines.reduce(together));
  return { items: full.slice(0, targetsMax), more };
}

/** The first one has waited longest. */
const together = (one: WaitingLine, other: WaitingLine): WaitingLine => ({
  ...one,
  owing: one.owing + other.owing,
  first: one.first < other.first ? one.first : other.first,
});

async function readWaitingLines(tx: Tx, { now, lateMs, prefix }: FullSearch): Promise<Looked<WaitingLine>> {
  const teams = prefix === null ? null : await teamsUnder(tx, prefix);
  const ofTeams = teams === null ? tx`true` : tx`w.team_id = any(${teams.map(({ id }) => id)}::int[])`;
  const ofPrefix =
    prefix === null ? tx`true` : tx`s.key >= ${prefix} and s.key < ${prefix + highestCharacter}`;
  const rows = await tx<({ more: boolean } & (WaitingLine | { queue: null }))[]>`
    with turns as materialized (
      select schedule_id, team_id, kind, owing, next_occurrence, noted_at from carillon.backlog
      where turn_at <= ${new Date(now.getTime() - lateMs)} order by turn_at limit ${turnsMax + 1}::int
    ), looked as materialized (
      select * from turns w where w.kind = 'cadence' and ${ofTeams} limit ${rowsMax + 1}::int
    ), lines as (
      select s.queue, s.target, s.team, sum(l.owing)::float8 as owing, min(l.next_occurrence) as first, min(l.noted_at) as since, min(s.key) as sample
      from looked l cross join lateral (
        select s.queue, s.key, s.team_id as team, carillon.apart_target(s.queue, s.target_id) as target from carillon.schedules s
        where s.id = l.schedule_id and s.deleted_at is null and s.held_since is null and ${ofPrefix} offset 0) s
      group by s.queue, s.target, s.team
    )
    select e.more, l.*, t.name
    from (select (select count(*) from turns) > ${turnsMax}::int or (select count(*) from looked) > ${rowsMax}::int as more) e
    left join lines l on true left join carillon.targets t on t.id = l.target
    order by l.since`;
  return {
    items: rows.flatMap((row) => (row.queue === null ? [] : [row])),
    more: rows[0]?.more === true,
  };
}

/** Missed occurrences that wait for jobs to end. */
export function fullBacklogProblems(
  { items, more }: Looked<Waiting>,
  { now, prefix }: { now: Date; prefix: string | null },
): Problem[] {
  if (items.length === 0) return more && prefix !== null ? [unseen(now, prefix)] : [];
  return items.map(({ name, owing, first, since, sample }) => {
    const count = { count: owing, more };
    const many = amountText(count, "missed occurrence waits", "missed occurrences wait");
    const text = `${many} in the backlog, the oldest since ${isoInstant(since.getTime())}: jobs at ${name ?? "queues and buses without a limit"} that do not end use up their share. More follow as these end.`;
    return inAgenda({ since, count, text, sample }, { first, now, prefix, target: name });
  });
}

/** Where too many rows wait to look at all, an empty list does not mean that none is of the prefix. */
function unseen(now: Date, prefix: string): Problem {
  const text = `None of the ${grouped.format(rowsMax)} rows of the backlog that were looked at is of this prefix; there may be more.`;
  const count = { count: 0, more: true };
  return inAgenda(
    { since: null, count, text, sample: null },
    { first: new Date(0), now, prefix, target: null },
  );
}

/** The command takes the window as a word, and the request as two instants. */
function inAgenda(
  said: Pick<Problem, "since" | "count" | "text" | "sample">,
  { first, now, prefix, target }: { first: Date; now: Date; prefix: string | null; target: string | null },
): Problem {
  const from = isoInstant(Math.max(first.getTime(), now.getTime() - windowMaxMs));
  const to = isoInstant(now.getTime());
  const query = {
    outcome: "backlog",
    ...(target === null ? {} : { target }),
    ...(prefix === null ? {} : { prefix }),
  };
  const found = problem({
    ...said,
    kind: "backlog-full",
    path: "/v1/agenda",
    query,
    command: `carillon agenda ${from}..${to}`,
  });
  return { ...found, see: { path: "/v1/agenda", query: { from, to, ...query } } };
}
