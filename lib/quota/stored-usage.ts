import type { Tx } from "../db/connect.ts";
import type { UsageChange } from "./note-usage.ts";
import { noUsage } from "./usage.ts";

/** The usage of a schedule by its row alone, where its spec is not read or cannot be. */
export interface StoredUsage {
  scheduleId: string;
  teamId: number | null;
  perYear: string;
  payloadBytes: number;
}

/** Columns of a schedule `s`. */
export const storedUsage = (tx: Tx) => tx`
  s.team_id as "teamId", carillon.per_year_of(s.rule, s.per_year) as "perYear", coalesce(s.payload_bytes, 0) as "payloadBytes"`;

/** The room that a deleted schedule leaves to its team. */
export function usageFreed({ scheduleId, teamId, perYear, payloadBytes }: StoredUsage): UsageChange {
  return {
    teamId,
    scheduleId,
    change: { ...noUsage, schedules: -1, perYear: -Number(perYear), payloadBytes: -payloadBytes },
  };
}
