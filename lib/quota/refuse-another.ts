import { type QuotaKind, quotaDefaults } from "../config/quota-setting.ts";
import type { Tx } from "../db/connect.ts";
import { lockQuota } from "../db/locks.ts";
import { quotaRefusal } from "./quota-refusal.ts";

/** Things that are few enough to be counted where one is added. */
type Counted = Extract<QuotaKind, "tokens" | "holds" | "calendars">;

/**
 * Refuses one more of a kind where the prefix has as many as it may. Until the transaction ends no
 * other adds one, so the limit is exact.
 */
export async function refuseAnother(
  tx: Tx,
  prefix: string,
  kind: Counted,
  count: () => PromiseLike<number>,
): Promise<void> {
  const allowed = await limitOf(tx, prefix, kind);
  if (allowed === null) return;
  await lockQuota(tx, `${kind} ${prefix}`);
  const used = await count();
  if (used >= allowed) throw quotaRefusal(prefix, kind, { wanted: used + 1, used, allowed });
}

async function limitOf(tx: Tx, prefix: string, kind: Counted): Promise<number | null> {
  const [row] = await tx<{ most: number | null }[]>`
    select most::float8 as most from carillon.quota_limits
    where kind = ${kind} and prefix in (${prefix}, '') order by prefix desc limit 1`;
  return row === undefined ? quotaDefaults[kind] : row.most;
}
