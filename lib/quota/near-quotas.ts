import type { Tx } from "../db/connect.ts";
import { type PrefixQuotas, quotasOf } from "./read-quotas.ts";
import { readLimits } from "./team-list.ts";

/** A quota of which much is used. */
export interface NearQuota {
  prefix: string;
  quota: string;
  used: number;
  allowed: number;
  percent: number;
}

/** A quota is near its limit from here on. */
export const nearPercent = 80;

/** The most prefixes of one look. With more, each look takes the next ones. */
const lookedMax = 5_000;

/**
 * The quotas that are nearly used up, the fullest first, and how full the fullest of all is.
 * `turn` counts the looks.
 */
export async function nearQuotas(tx: Tx, turn: number): Promise<{ fullest: number; near: NearQuota[] }> {
  const [count] = await tx<{ teams: number }[]>`select count(*)::int as teams from carillon.teams`;
  const turns = Math.max(1, Math.ceil((count?.teams ?? 0) / lookedMax));
  const rows = await tx<{ prefix: string }[]>`
    select prefix from carillon.teams order by id limit ${lookedMax} offset ${(turn % turns) * lookedMax}`;
  const read = await quotasOf(
    tx,
    rows.map(({ prefix }) => prefix),
    await readLimits(tx),
  );
  const uses = read.flatMap(usesOf).sort((one, other) => other.percent - one.percent);
  return { fullest: uses[0]?.percent ?? 0, near: uses.filter(({ percent }) => percent >= nearPercent) };
}

function usesOf({ prefix, ...quotas }: PrefixQuotas): NearQuota[] {
  return Object.entries(quotas).flatMap(([quota, { used, allowed }]) =>
    allowed === null ? [] : [{ prefix, quota, used, allowed, percent: percentOf(used, allowed) }],
  );
}

/** Rounded down: 100 means that nothing more fits. */
function percentOf(used: number, allowed: number): number {
  return allowed === 0 ? 100 : Math.floor((used / allowed) * 100);
}
