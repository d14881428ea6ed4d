import type { Tx } from "../../db/connect.ts";
import { Refusal } from "../../refusal.ts";

/**
 * The number of a schedule's version whose row is missing, and the highest number above its current
 * one; null if there is none. Columns of the tables s (schedules) and v (the version with the
 * spec).
 */
export interface VersionColumns {
  missingVersion: number | null;
  higherVersion: number | null;
}

/**
 * Costs one more index lookup for each schedule, and a second if the current version changed only
 * the state.
 */
export const versionColumns = (tx: Tx) => tx`
  case when v.schedule_id is null then s.spec_version when s.version <> s.spec_version and not exists (
    select from carillon.schedule_versions own where own.schedule_id = s.id and own.version = s.version) then s.version end as "missingVersion",
  (select max(higher.version) from carillon.schedule_versions higher
    where higher.schedule_id = s.id and higher.version > s.version) as "higherVersion"`;

/** Why a schedule and its versions are of different moments; null if they match. */
export function versionsFault({
  version,
  missingVersion,
  higherVersion,
}: VersionColumns & { version: number }): string | null {
  if (missingVersion !== null)
    return `The stored version ${missingVersion} has no row in carillon.schedule_versions.`;
  if (higherVersion !== null)
    return `The stored version is ${version}, and carillon.schedule_versions has a row of version ${higherVersion}.`;
  return null;
}

/** As `versionsFault`, for the schedule with this id. Null if it is deleted. */
export async function versionsFaultOf(tx: Tx, id: string): Promise<string | null> {
  const [row] = await tx<(VersionColumns & { version: number })[]>`
    select s.version, ${versionColumns(tx)}
    from carillon.schedules s left join carillon.schedule_versions v on v.schedule_id = s.id and v.version = s.spec_version
    where s.id = ${id} and coalesce(s.deleted_at, 'infinity') = 'infinity'`;
  return row === undefined ? null : versionsFault(row);
}

/** The sentence for a caller whose schedule cannot be read. */
export const unreadAdvice = (unread: string) => `${unread} Replace the schedule with a PUT, or delete it.`;

export const unreadConflict = (unread: string) => new Refusal("conflict", unreadAdvice(unread));
