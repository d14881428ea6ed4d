import type { Tx } from "../db/connect.ts";
import { fits, highestCharacter } from "../schedule/filter-schedules.ts";

/** Selects the schedules whose jobs are searched. */
export interface JobOwners {
  key?: string | undefined;
  prefix?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
  /** A kind of target (`webhook`), or one target by its name (`webhook/api.example.com`). */
  target?: string | undefined;
}

/** Up to this many schedules are searched one by one; for more, all jobs are searched. */
const namedMax = 100;

/**
 * The ids of the schedules with the key or group, or under the prefix. Null if there are too many,
 * or if the filter has neither key, group nor prefix.
 */
export async function fewOwners(
  tx: Tx,
  { key, prefix, group }: JobOwners,
  { deleted, most = namedMax }: { deleted: boolean; most?: number },
): Promise<string[] | null> {
  const named =
    key !== undefined
      ? tx`key = ${key}`
      : group !== undefined
        ? tx`group_key = ${group} and group_key is not null`
        : prefix !== undefined
          ? underPrefix(tx, prefix)
          : null;
  if (named === null) return null;
  // Otherwise a prefix or a group of many schedules could be searched in the order of the table. The
  // index of deleted schedules by group does not contain the key, and would be read to its end.
  const sorted = key === undefined ? tx`order by key` : tx``;
  const sortedDeleted = group === undefined ? sorted : tx``;
  const rows = await tx<{ id: string }[]>`
    (select id from carillon.schedules where deleted_at is null and ${named} ${sorted} limit ${most + 1})
    ${deleted ? tx`union all (select id from carillon.schedules where deleted_at is not null and ${named} ${sortedDeleted} limit ${most + 1})` : tx``}`;
  return rows.length > most ? null : rows.map(({ id }) => id);
}

/**
 * The ids of the schedules that match, deleted ones too. Null if there are too many, or if the
 * filter names neither key, group nor prefix.
 */
export async function fewSchedules(
  tx: Tx,
  owners: JobOwners,
  most: { named: number; found: number },
): Promise<string[] | null> {
  const few = await fewOwners(tx, owners, { deleted: true, most: most.named });
  if (few === null) return null;
  const rows = await tx<{ id: string }[]>`
    select s.id from carillon.schedules s where s.id = any(${few}::bigint[]) and ${isOwner(tx, owners)}`;
  return rows.length > most.found ? null : rows.map(({ id }) => id);
}

/** SQL condition: schedule `s` matches the filter. */
export function isOwner(tx: Tx, { key, ...filter }: JobOwners) {
  return tx`(${fits(tx, filter)} ${key === undefined ? tx`` : tx`and s.key = ${key}`})`;
}

const underPrefix = (tx: Tx, prefix: string) => tx`key >= ${prefix} and key < ${prefix + highestCharacter}`;
