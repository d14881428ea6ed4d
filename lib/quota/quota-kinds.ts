import { yearMs } from "../cadence/fires-per-year.ts";

/** Everything that quotas count, with the limit of each prefix where the setting names none. */
export const quotaDefaults = {
  schedules: 1_000_000,
  firesPerMinute: 60_000,
  payloadBytes: 10_000_000_000,
  tokens: 1_000,
  holds: 1_000,
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

/** The limits of a prefix; null for no limit. */
export type QuotaLimits = Readonly<Record<QuotaKind, number | null>>;

/** The names of the kinds in sentences, for one and for many. */
export const quotaWords: Readonly<Record<QuotaKind, string>> = {
  schedules: "schedules",
  firesPerMinute: "planned fires a minute",
  payloadBytes: "bytes of payloads",
  tokens: "tokens",
  holds: "holds of groups and tags",
  inboxRows: "commands in the SQL inbox",
  calendars: "calendars",
};

const minuteMs = 60_000;

/** Planned fires a minute on average, rounded up: one fire a day is more than none. */
export function perMinute(perYear: number): number {
  return Math.ceil((perYear * minuteMs) / yearMs);
}

/** The fires of a year that a limit of a minute allows. */
export function perYearAllowed(mostPerMinute: number): number {
  return Math.floor((mostPerMinute * yearMs) / minuteMs);
}

/** A row of carillon.quota_limits. The empty prefix stands for every prefix without a row of its own. */
export interface QuotaLimit {
  prefix: string;
  kind: QuotaKind;
  most: number | null;
}

export function limitsFor(prefix: string, rows: readonly QuotaLimit[]): QuotaLimits {
  const of = (kind: QuotaKind) => {
    const row =
      rows.find((each) => each.kind === kind && each.prefix === prefix) ??
      rows.find((each) => each.kind === kind && each.prefix === "");
    return row === undefined ? quotaDefaults[kind] : row.most;
  };
  return {
    schedules: of("schedules"),
    firesPerMinute: of("firesPerMinute"),
    payloadBytes: of("payloadBytes"),
    tokens: of("tokens"),
    holds: of("holds"),
    inboxRows: of("inboxRows"),
    calendars: of("calendars"),
  };
}
