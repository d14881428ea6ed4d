import { yearMs } from "../cadence/fires-per-year.ts";
import { type QuotaKind, type QuotaLimit, quotaDefaults } from "../config/quota-setting.ts";

/** The limits of a prefix; null for no limit. */
export type QuotaLimits = Readonly<Record<QuotaKind, number | null>>;

/** The names of the kinds in sentences, for one and for many. */
export const quotaWords: Readonly<Record<QuotaKind, string>> = {
  schedules: "schedules",
  firesPerMinute: "planned fires a minute",
  payloadBytes: "bytes of payloads",
  payloadBytesPerDay: "bytes of payloads and targets written today",
  tokens: "tokens",
  holds: "holds of groups and tags",
  inboxRows: "commands in the SQL inbox",
  calendars: "calendars",
};

const minuteMs = 60_000;

/** Planned fires a minute, rounded up: one fire a day is more than none. */
export function perMinute(perYear: number): number {
  return Math.ceil((perYear * minuteMs) / yearMs);
}

/** The fires of a year that a limit of a minute allows. */
export function perYearAllowed(mostPerMinute: number): number {
  return Math.floor((mostPerMinute * yearMs) / minuteMs);
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
    payloadBytesPerDay: of("payloadBytesPerDay"),
    tokens: of("tokens"),
    holds: of("holds"),
    inboxRows: of("inboxRows"),
    calendars: of("calendars"),
  };
}
