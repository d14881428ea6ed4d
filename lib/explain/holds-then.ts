import type { Json } from "../schedule/shape/json.ts";
import { indexAt } from "./place.ts";
import type { Facts, HeldBy, VersionFact } from "./verdict.ts";

/**
 * A time under a hold: the owners of the holds, and when the last hold ended. Null if one is still
 * in force.
 */
export interface HeldSpan {
  by: HeldBy[];
  since: number;
  until: number | null;
}

/**
 * The hold that was in force at a due time. A current hold is in its row, a past one in the audit
 * of its versions.
 */
export function heldAt(facts: Facts, due: number): HeldSpan | null {
  const { heldSince, heldUntil } = facts;
  if (heldSince !== null && due > heldSince && (heldUntil === null || due <= heldUntil))
    return { by: standingBy(facts, due), since: heldSince, until: heldUntil };
  return pastHold(facts.versions, due);
}

/** The current holds that a due time lies under; all of them for a job that waits on though it was due before. */
export function standingBy({ holds }: Pick<Facts, "holds">, due: number): HeldBy[] {
  const binding = holds.filter(
    ({ since, until }) => since.getTime() < due && (until === null || until.getTime() >= due),
  );
  return (binding.length > 0 ? binding : holds).map(({ scope, name, owner, reason, since, until }) => ({
    owner,
    reason,
    since,
    until,
    ...(scope === "schedule" ? {} : { [scope]: name }),
  }));
}

function pastHold(versions: readonly VersionFact[], due: number): HeldSpan | null {
  const index = indexAt(versions, due);
  const version = versions[index];
  if (version === undefined || !version.held) return null;
  if (version.heldUntil !== null && version.heldUntil < due) return null;
  let first = index;
  while (versions[first - 1]?.held === true) first -= 1;
  const next = versions.find(({ held, at }) => at > version.at && !held);
  const ends = [version.heldUntil, next?.at ?? null].filter((end) => end !== null);
  return {
    by: replayed(versions.slice(first, index + 1)).filter(
      ({ until }) => until === null || until.getTime() >= due,
    ),
    since: versions[first]?.at ?? version.at,
    until: ends.length === 0 ? null : Math.min(...ends),
  };
}

/** The holds in force after these versions. There was none before the first of them. */
function replayed(versions: readonly VersionFact[]): HeldBy[] {
  const standing = new Map<string, HeldBy>();
  for (const [index, { change, at, by, detail }] of versions.entries()) {
    const owner = textIn(detail, "owner") ?? by;
    const group = textIn(detail, "group");
    const tag = textIn(detail, "tag");
    const name = JSON.stringify([owner, group, tag]);
    if (change === "resumed") standing.delete(name);
    else if (change === "paused" || index === 0) {
      const until = textIn(detail, "until");
      standing.set(name, {
        owner,
        reason: textIn(detail, "reason"),
        since: standing.get(name)?.since ?? new Date(at),
        until: until === null ? null : new Date(until),
        ...(group === null ? {} : { group }),
        ...(tag === null ? {} : { tag }),
      });
    }
  }
  return [...standing.values()];
}

function textIn(detail: Json, name: string): string | null {
  if (typeof detail !== "object" || detail === null || Array.isArray(detail)) return null;
  const value = detail[name];
  return typeof value === "string" ? value : null;
}

/** `ann ("maintenance") since 2026-03-02T10:00:00Z` and the like. */
export function holdersText(by: readonly HeldBy[]): string {
  if (by.length === 0) return "a hold";
  return by
    .map(({ owner, reason, group, tag }) => {
      const on =
        group === undefined ? (tag === undefined ? "" : ` on the tag ${tag}`) : ` on the group ${group}`;
      return `${owner}${on}${reason === null || reason === "" ? "" : ` ("${reason}")`}`;
    })
    .join(" and ");
}
