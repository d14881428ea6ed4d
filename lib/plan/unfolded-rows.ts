import type { Tx } from "../db/connect.ts";
import type { Unfolded } from "./instants.ts";

/**
 * The occurrences of a plan row, computed in JavaScript: once for all rows with the same cadence,
 * occurrence and due time, or for one schedule.
 */
export interface UnfoldedRow extends Unfolded {
  key: { cadenceId: number } | { scheduleId: string };
  planned: Date;
  plannedDue: Date;
  /** The schedule has a limit of fires. */
  limited: boolean;
}

interface Instant {
  row: UnfoldedRow;
  at: number;
  due: number;
  role: "run" | "passed" | "next" | "owed";
  reason: string | null;
}

/**
 * The rows as tables: instants (cadence_id or schedule_id, planned, planned_due, at, due_at, role:
 * run | passed | next | owed, reason) and ranges (the same key, from_at, to_at, count, more,
 * reason).
 */
export function unfoldedRows(tx: Tx, rows: readonly UnfoldedRow[]) {
  const instants = rows.flatMap(instantsOf);
  const ranges = rows.flatMap((row) => row.ranges.map((range) => ({ row, ...range })));
  const dates = (values: readonly number[]) => tx.array(values.map((value) => new Date(value)));
  const keys = (of: readonly { row: UnfoldedRow }[]) => tx`
    ${of.map(({ row: { key } }) => ("cadenceId" in key ? key.cadenceId : null))}::int[],
    ${of.map(({ row: { key } }) => ("scheduleId" in key ? key.scheduleId : null))}::bigint[],
    ${tx.array(of.map(({ row }) => row.planned))}::timestamptz[], ${tx.array(of.map(({ row }) => row.plannedDue))}::timestamptz[]`;
  return tx`
    instants as materialized (
      select * from unnest(${keys(instants)}, ${dates(instants.map(({ at }) => at))}::timestamptz[],
        ${dates(instants.map(({ due }) => due))}::timestamptz[], ${instants.map(({ role }) => role)}::text[],
        ${instants.map(({ reason }) => reason)}::text[]) i (cadence_id, schedule_id, planned, planned_due, at, due_at, role, reason)
    ),
    ranges as materialized (
      select * from unnest(${keys(ranges)}, ${dates(ranges.map(({ from }) => from))}::timestamptz[],
        ${dates(ranges.map(({ to }) => to))}::timestamptz[], ${ranges.map(({ count }) => count)}::bigint[],
        ${tx.array(ranges.map(({ more }) => more))}::boolean[], ${ranges.map(({ reason }) => reason)}::text[])
        r (cadence_id, schedule_id, planned, planned_due, from_at, to_at, count, more, reason)
    )`;
}

function instantsOf(row: UnfoldedRow): Instant[] {
  const withRole = (role: Instant["role"]) => (run: { at: number; due: number }) => ({
    row,
    ...run,
    role,
    reason: null,
  });
  return [
    ...row.runs.map(withRole("run")),
    ...row.passed.map((passed) => ({ row, ...passed, role: "passed" as const })),
    ...row.backlog.map(withRole("owed")),
    ...(row.next === null ? [] : [withRole("next")(row.next)]),
  ];
}
