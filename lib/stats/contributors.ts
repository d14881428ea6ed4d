import type { Tx } from "../db/connect.ts";

/** Fires are counted by the key up to its first colon, a tag, the target, or the whole key. */
export type Contributor = "prefix" | "tag" | "target" | "key";

export const contributors = ["prefix", "tag", "target", "key"] as const satisfies Contributor[];

export interface Contribution {
  /** Null for schedules without one: a key without a colon, a schedule without tags. */
  name: string | null;
  fires: number;
}

/** SQL: the names that the fires of a schedule `s` count for. */
export function namesOf(tx: Tx, by: Contributor) {
  switch (by) {
    case "prefix":
      return tx`array[case when position(':' in s.key) > 0 then split_part(s.key, ':', 1) || ':' else '' end]`;
    case "tag":
      return tx`case when s.tags = '{}' then array[''] else s.tags end`;
    case "target":
      return tx`array[coalesce((select t.name from carillon.targets t where t.id = s.target_id), s.target_kind)]`;
    case "key":
      return tx`array[s.key]`;
  }
}

/** The largest contributors of these minutes together, at most `most` of them. */
export function largestOf(
  minutes: readonly { names: ReadonlyMap<string, number> }[],
  most: number,
): Contribution[] {
  const sums = new Map<string, number>();
  for (const { names } of minutes)
    for (const [name, fires] of names) sums.set(name, (sums.get(name) ?? 0) + fires);
  return [...sums]
    .map(([name, fires]) => ({ name: name === "" ? null : name, fires: Math.round(fires) }))
    .filter(({ fires }) => fires > 0)
    .toSorted((one, other) => other.fires - one.fires)
    .slice(0, most);
}
