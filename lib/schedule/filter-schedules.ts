import type { Tx } from "../db/connect.ts";

/** The parts of a filter that concern the head of a schedule. */
export interface HeadFilter {
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  /** A kind of target (`webhook`), or one target by its name (`webhook/api.example.com`). */
  target?: string | undefined;
  createdBy?: string | undefined;
  /** The calendar that it uses, by its name. */
  calendar?: string | undefined;
  /** Whether the schedule is on hold now. */
  held?: boolean | undefined;
  /** Schedules with these keys. */
  keys?: readonly string[] | undefined;
}

/** The index that the search of live schedules uses, in the order of keys. */
export type Access =
  | { by: "group"; group: string }
  | { by: "tag"; tag: string }
  | { by: "targets"; ids: readonly number[] }
  | { by: "ids"; ids: readonly string[] }
  | { by: "held" }
  | { by: "key" };

/** A kind with more targets than this has many schedules: the search then reads all keys. */
const mergedMax = 100;

/**
 * Up to this many schedules of one creator are read and sorted by key. If there are more, reading
 * all schedules by key finds a page of them soon enough.
 */
const sortedMax = 5_000;

/**
 * Chooses the index for a filter. The next page may use another one, if few schedules have become
 * many; every index gives the order of keys.
 */
export async function accessFor(tx: Tx, filter: HeadFilter): Promise<Access> {
  const { group, tag, target, createdBy, calendar, held, keys } = filter;
  if (keys !== undefined) return { by: "ids", ids: await idsOf(tx, keys) };
  if (group !== undefined) return { by: "group", group };
  if (tag !== undefined) return { by: "tag", tag };
  if (target?.includes("/")) return { by: "targets", ids: await targetsNamed(tx, target) };
  if (createdBy !== undefined) {
    const ids = await madeBy(tx, createdBy);
    if (ids.length <= sortedMax) return { by: "ids", ids };
  }
  if (calendar !== undefined) {
    const ids = await usersOf(tx, calendar);
    if (ids.length <= sortedMax) return { by: "ids", ids };
  }
  if (held === true) return { by: "held" };
  if (target !== undefined) {
    const ids = await targetsOfKind(tx, target);
    if (ids !== null) return { by: "targets", ids };
  }
  return { by: "key" };
}

async function targetsNamed(tx: Tx, name: string): Promise<number[]> {
  const rows = await tx<{ id: number }[]>`select id from carillon.targets where name = ${name}`;
  return rows.map(({ id }) => id);
}

/**
 * The ids of all targets of a kind. Null if there are too many, or if a schedule has no target id,
 * because it is older than the rows of targets.
 */
async function targetsOfKind(tx: Tx, kind: string): Promise<number[] | null> {
  const rows = await tx<{ id: number | null }[]>`
    (select id from carillon.targets where name >= ${`${kind}/`} and name < ${`${kind}/${highestCharacter}`} order by name limit ${mergedMax + 1})
    union all (select null from carillon.schedules where target_id is null limit 1)`;
  const ids = rows.flatMap(({ id }) => (id === null ? [] : [id]));
  return ids.length > mergedMax || ids.length < rows.length ? null : ids;
}

async function idsOf(tx: Tx, keys: readonly string[]): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select s.id from unnest(${[...keys]}::text[]) k (key) cross join lateral (
      select s.id from carillon.schedules s where s.key = k.key and s.deleted_at is null offset 0) s`;
  return rows.map(({ id }) => id);
}

/**
 * The schedules of one creator; one more than `sortedMax` means that there may be many more. The
 * query has two bounds instead of equality, so that only the index of creators can give its order.
 */
async function madeBy(tx: Tx, name: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from carillon.schedules where created_by >= ${name} and created_by <= ${name}
    order by created_by limit ${sortedMax + 1}`;
  return rows.map(({ id }) => id);
}

/** The schedules of one calendar; one more than `sortedMax` means that there may be many more. */
async function usersOf(tx: Tx, name: string): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select s.id from carillon.calendars c cross join lateral (
      select s.id from carillon.schedules s
      where s.calendar_id is not null and s.calendar_id >= c.id and s.calendar_id <= c.id and s.deleted_at is null
      order by s.calendar_id, s.id limit ${sortedMax + 1}) s
    where c.name = ${name} and c.deleted_at is null`;
  return rows.map(({ id }) => id);
}

/** Whether the index alone already gives exactly the schedules of the filter. */
export function isCovered(
  access: Access,
  { group, tag, target, createdBy, calendar, held, keys }: HeadFilter,
): boolean {
  if (keys !== undefined || calendar !== undefined) return false;
  const named = { group, tag, targets: target, ids: createdBy, held, key: undefined }[access.by];
  return [group, tag, target, createdBy, held].every((each) => each === undefined || each === named);
}

export interface KeyRange {
  from: string;
  /** Whether the range includes `from` itself. */
  inclusive: boolean;
  to: string;
}

/** The keys with a prefix that come after a key; null if there can be none. */
export function keysBehind(after: string | undefined, prefix = ""): KeyRange | null {
  const to = `${prefix}${highestCharacter}`;
  if (after === undefined) return { from: prefix, inclusive: true, to };
  if (after.startsWith(prefix)) return { from: after, inclusive: false, to };
  // Compared byte by byte, as in the C collation.
  return Buffer.compare(Buffer.from(after), Buffer.from(prefix)) < 0
    ? { from: prefix, inclusive: true, to }
    : null;
}

const head = (tx: Tx) => tx`
  s.id, s.key, s.shard, s.group_key, s.tags, s.target_id, s.target_kind, s.created_by, s.calendar_id, s.held_since, s.held_until, s.spec_version, s.max_fires,
  s.rule, s.phase, s.lagged`;

/**
 * The next schedules of a search, in the order of keys. The bounds of both columns together leave
 * the planner no other index: with equality of the first column it could choose an index of another
 * order, and read it until enough rows are found. The bounds of the first column alone show the
 * planner how few rows there are.
 */
export function walked(tx: Tx, access: Access, { from, inclusive, to }: KeyRange, most: number) {
  const beyond = inclusive ? tx`>=` : tx`>`;
  switch (access.by) {
    case "group": {
      const { group } = access;
      return tx`
        select ${head(tx)} from carillon.schedules s where s.deleted_at is null and s.group_key is not null
          and s.group_key >= ${group} and s.group_key <= ${group} and (s.group_key, s.key) ${beyond} (${group}, ${from}) and (s.group_key, s.key) < (${group}, ${to})
        order by s.group_key, s.key limit ${most}`;
    }
    case "tag": {
      const { tag } = access;
      return tx`
        select s.* from (
          select t.key from carillon.schedule_tags t where t.tag >= ${tag} and t.tag <= ${tag} and (t.tag, t.key) ${beyond} (${tag}, ${from}) and (t.tag, t.key) < (${tag}, ${to})
          order by t.tag, t.key limit ${most}) t
        cross join lateral (
          select ${head(tx)} from carillon.schedules s where s.key = t.key and s.deleted_at is null offset 0) s`;
    }
    case "targets":
      return tx`
        select h.* from unnest(${[...access.ids]}::int[]) t (id) cross join lateral (
          select ${head(tx)} from carillon.schedules s where s.deleted_at is null and s.target_id is not null
            and s.target_id >= t.id and s.target_id <= t.id and (s.target_id, s.key) ${beyond} (t.id, ${from}) and (s.target_id, s.key) < (t.id, ${to})
          order by s.target_id, s.key limit ${most}) h
        order by h.key limit ${most}`;
    case "ids":
      return tx`
        select s.* from unnest(${[...access.ids]}::bigint[]) i (id) cross join lateral (
          select ${head(tx)} from carillon.schedules s where s.id = i.id and coalesce(s.deleted_at, 'infinity') = 'infinity' offset 0) s
        where s.key ${beyond} ${from} and s.key < ${to} order by s.key limit ${most}`;
    case "held":
      return tx`
        select ${head(tx)} from carillon.schedules s
        where s.deleted_at is null and s.held_since is not null and s.key ${beyond} ${from} and s.key < ${to}
        order by s.key limit ${most}`;
    case "key":
      return tx`
        select ${head(tx)} from carillon.schedules s where s.deleted_at is null and s.key ${beyond} ${from} and s.key < ${to}
        order by s.key limit ${most}`;
  }
}

/** SQL: whether a schedule `s` matches the filter. */
export function fits(tx: Tx, { prefix, group, tag, target, createdBy, calendar, held, keys }: HeadFilter) {
  return tx`(true
    ${prefix === undefined ? tx`` : tx`and ${isUnder(tx, prefix)}`}
    ${group === undefined ? tx`` : tx`and s.group_key = ${group}`}
    ${tag === undefined ? tx`` : tx`and s.tags @> array[${tag}::text]`}
    ${target === undefined ? tx`` : goesTo(tx, target)}
    ${createdBy === undefined ? tx`` : tx`and s.created_by = ${createdBy}`}
    ${calendar === undefined ? tx`` : tx`and s.calendar_id = (select c.id from carillon.calendars c where c.name = ${calendar} and c.deleted_at is null)`}
    ${held === undefined ? tx`` : tx`and ${isHeld(tx)} = ${held}`}
    ${keys === undefined ? tx`` : tx`and s.key = any(${[...keys]}::text[])`})`;
}

/**
 * SQL: whether a schedule `s` is on hold. A hold whose end has passed does not count, even before
 * the tick has removed it.
 */
export const isHeld = (tx: Tx) =>
  tx`(s.held_since is not null and (s.held_until is null or s.held_until > (select carillon.clock())))`;

function goesTo(tx: Tx, target: string) {
  return target.includes("/")
    ? tx`and s.target_id = (select t.id from carillon.targets t where t.name = ${target})`
    : tx`and s.target_kind = ${target}`;
}

const isUnder = (tx: Tx, prefix: string) => tx`s.key >= ${prefix} and s.key < ${prefix + highestCharacter}`;

/**
 * Sorts after every character that a key may have, in the C collation: the upper bound of a prefix.
 */
export const highestCharacter = "\u{10FFFF}";
