import type { QuotaKind, QuotaLimit } from "../config/quota-setting.ts";
import type { Tx } from "../db/connect.ts";
import { limitsFor, perMinute } from "./quota-kinds.ts";
import { readLimits } from "./team-list.ts";

/** How much of a quota is used; `allowed` is null for no limit. */
export interface QuotaUse {
  used: number;
  allowed: number | null;
}

/** The quotas of a prefix. Calendars have none: they count in the whole deployment. */
export type PrefixQuotas = Readonly<Record<Exclude<QuotaKind, "calendars">, QuotaUse>> & { prefix: string };

export interface QuotasRead {
  items: PrefixQuotas[];
  calendars: QuotaUse;
  /** The last prefix of the page, if there are more. */
  next?: string;
}

export interface QuotasAsked {
  /** The prefix of the caller's token; null for all keys. */
  prefix: string | null;
  /** The first prefix of the caller's tokens, which limits it too. */
  team: string | null;
  after?: string | undefined;
  limit: number;
}

/** The quotas of the prefixes that the caller reaches, and of those that limit it, by prefix. */
export async function readQuotas(
  tx: Tx,
  { prefix, team, after = "", limit }: QuotasAsked,
): Promise<QuotasRead> {
  const reached = tx`select t.prefix from carillon.teams t where starts_with(t.prefix, ${prefix ?? ""})`;
  const limiting = tx`select t.prefix from carillon.teams t where starts_with(${prefix ?? ""}, t.prefix)`;
  const rows = await tx<{ prefix: string }[]>`
    select prefix from (${reached} union ${limiting} union select ${team} where ${team}::text is not null) p (prefix)
    where prefix collate "C" > ${after} collate "C" order by prefix collate "C" limit ${limit + 1}`;
  const prefixes = rows.slice(0, limit).map((row) => row.prefix);
  const [calendars] = await tx<{ used: number }[]>`
    select count(*)::int as used from carillon.calendars where deleted_at is null`;
  const limits = await readLimits(tx);
  const last = prefixes.at(-1);
  return {
    items: await quotasOf(tx, prefixes, limits),
    calendars: { used: calendars?.used ?? 0, allowed: limitsFor("", limits).calendars },
    ...(rows.length > limit && last !== undefined ? { next: last } : {}),
  };
}

/** The quotas of these prefixes, in their order. */
export async function quotasOf(
  tx: Tx,
  prefixes: readonly string[],
  limits: readonly QuotaLimit[],
): Promise<PrefixQuotas[]> {
  if (prefixes.length === 0) return [];
  const rows = await tx<UsageRow[]>`
    select prefix, schedules::float8 as schedules, per_year::float8 as "perYear", payload_bytes::float8 as "payloadBytes",
      written_bytes::float8 as "writtenBytes", tokens::float8 as tokens, holds::float8 as holds, inbox_rows::float8 as "inboxRows"
    from carillon.quota_usage(${[...prefixes]}::text[]) order by prefix collate "C"`;
  return rows.map(({ prefix, perYear, ...used }) => {
    const allowed = limitsFor(prefix, limits);
    const use = (kind: keyof typeof allowed, count: number) => ({ used: count, allowed: allowed[kind] });
    return {
      prefix,
      schedules: use("schedules", used.schedules),
      firesPerMinute: use("firesPerMinute", perMinute(perYear)),
      payloadBytes: use("payloadBytes", used.payloadBytes),
      payloadBytesPerDay: use("payloadBytesPerDay", used.writtenBytes),
      tokens: use("tokens", used.tokens),
      holds: use("holds", used.holds),
      inboxRows: use("inboxRows", used.inboxRows),
    };
  });
}

interface UsageRow {
  prefix: string;
  schedules: number;
  perYear: number;
  payloadBytes: number;
  writtenBytes: number;
  tokens: number;
  holds: number;
  inboxRows: number;
}
