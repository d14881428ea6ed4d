import { namedTwice, prefixForm } from "./prefix-rates.ts";

/** Everything that quotas count, with the limit of each prefix where the setting names none. */
export const quotaDefaults = {
  schedules: 1_000_000,
  firesPerMinute: 60_000,
  payloadBytes: 10_000_000_000,
  payloadBytesPerDay: 10_000_000_000,
  tokens: 1_000,
  holds: 10_000,
  inboxRows: 100_000,
  /** The limit of the whole deployment: calendars have no prefix. */
  calendars: 1_000,
} as const satisfies Record<string, number>;

export type QuotaKind = keyof typeof quotaDefaults;

export const quotaKinds: readonly QuotaKind[] = Object.keys(quotaDefaults).filter(
  (name): name is QuotaKind => name in quotaDefaults,
);

export function isQuotaKind(text: string): text is QuotaKind {
  return Object.hasOwn(quotaDefaults, text);
}

/** A row of carillon.quota_limits. The empty prefix stands for every prefix without a row of its own. */
export interface QuotaLimit {
  prefix: string;
  kind: QuotaKind;
  most: number | null;
}

const form = `it takes limits such as schedules=2000000 for every prefix, and billing:=schedules=5000000 for one; kinds are ${quotaKinds.join(", ")}, and a limit is a whole number or none`;

const entryForm = /^(?:(?<prefix>.+)=)?(?<kind>[A-Za-z]+)=(?<most>none|0|[1-9]\d{0,14})$/u;

/** Reads an entry of the setting `quotas`. Throws a sentence with the allowed form. */
export function parseQuota(text: string): QuotaLimit {
  const { prefix = "", kind = "", most = "" } = entryForm.exec(text)?.groups ?? {};
  if (!isQuotaKind(kind) || (prefix !== "" && !prefixForm.test(prefix)))
    throw new Error(`${form}, not ${text}`);
  if (kind === "calendars" && prefix !== "")
    throw new Error(`calendars have no prefix: it takes calendars=${most}, not ${text}`);
  return { prefix, kind, most: most === "none" ? null : Number(most) };
}

/** Reads all entries, of which no two have the same prefix and kind. */
export function parseQuotas(texts: readonly string[]): QuotaLimit[] {
  const twice = namedTwice(texts);
  if (twice !== null) throw new Error(`it takes one limit for ${twice}, not two`);
  return texts.map(parseQuota);
}
