import { byIndex } from "../../db/by-index.ts";
import type { Sql, Tx } from "../../db/connect.ts";
import { teamsWith } from "../../quota/teams-of-prefix.ts";
import { highestCharacter } from "../../schedule/filter-schedules.ts";

export interface GroupFilter {
  /** Groups whose names begin with it. */
  prefix?: string | undefined;
  /** Groups that have a schedule whose key begins with it; only these schedules are counted. */
  keys?: string | undefined;
}

/** A group that has schedules. */
export interface ListedGroup {
  name: string;
  /** Its schedules, counted up to `countedMax`. */
  schedules: number;
  /** Whether counting stopped at its limit. */
  more: boolean;
  /** The first of the keys. */
  sample: string;
}

/** The most schedules of a group that are counted. */
export const countedMax = 100;

/** The most groups that one page looks at, if a prefix of keys may leave some of them out. */
export const groupsLookedMax = 2_000;

interface GroupPage {
  filter: GroupFilter;
  after?: string | undefined;
  limit: number;
}

interface LookedRow {
  name: string;
  schedules: number;
  sample: string | null;
  looked: number;
}

/**
 * Lists the groups by name. The statement goes from each name to the next one in the index of groups:
 * a plain `distinct` would read all members of a group of a million. For a prefix of keys it goes through the
 * groups of its teams alone: the end of a page would otherwise tell how many groups others have.
 */
export async function listGroups(
  sql: Sql,
  page: GroupPage,
): Promise<{ items: ListedGroup[]; next?: string }> {
  const { limit } = page;
  const { keys = "" } = page.filter;
  const rows = await byIndex(sql, async (tx) =>
    walked(tx, page, keys === "" ? null : await teamsWith(tx, keys)),
  );
  const found = rows.flatMap(({ name, schedules, sample }): ListedGroup[] =>
    sample === null
      ? []
      : [{ name, schedules: Math.min(schedules, countedMax), more: schedules > countedMax, sample }],
  );
  const items = found.slice(0, limit);
  const last = found.length > limit ? items.at(-1) : rows.find(({ looked }) => looked === groupsLookedMax);
  return { items, ...(last === undefined ? {} : { next: last.name }) };
}

function walked(tx: Tx, { filter, after, limit }: GroupPage, teams: readonly number[] | null) {
  const { prefix = "", keys = "" } = filter;
  const end = prefix + highestCharacter;
  const keysEnd = keys + highestCharacter;
  const live = tx`s.deleted_at is null and s.group_key is not null`;
  const later = tx`s.group_key > w.name and s.group_key >= ${prefix} and s.group_key < ${end}`;
  const next =
    teams === null
      ? tx`select s.group_key as name from carillon.schedules s where ${live} and ${later} order by s.group_key limit 1`
      : tx`
        select min(first.name) as name from unnest(${[...teams]}::int[]) t (team) cross join lateral (
          select s.group_key as name from carillon.schedules s
          where ${live} and s.team_id = t.team and ${later} order by s.team_id, s.group_key limit 1) first`;
  // Names and keys are compared as rows: only the index of groups has bounds for rows.
  return tx<LookedRow[]>`
    with recursive walked (name, schedules, sample, looked, found) as (
      select ${after ?? ""}::text collate "C", 0, null::text collate "C", 0, 0
      union all
      select next.name, members.schedules, members.sample, w.looked + 1, w.found + (members.schedules > 0)::int
      from walked w
      cross join lateral (${next}) next
      cross join lateral (
        select count(*)::int as schedules, min(m.key) as sample from (
          select s.key from carillon.schedules s
          where ${live} and (s.group_key, s.key) >= (next.name, ${keys}) and (s.group_key, s.key) < (next.name, ${keysEnd})
          order by s.group_key, s.key limit ${countedMax + 1}) m) members
      where next.name is not null and w.found <= ${limit} and w.looked < ${groupsLookedMax})
    select name, schedules, sample, looked from walked
    where schedules > 0 or looked = ${groupsLookedMax} order by name`;
}
