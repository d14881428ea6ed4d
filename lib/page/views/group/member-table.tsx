import type { ScheduleSummary } from "../../../client/schedule.ts";
import type { More } from "../../data/more.ts";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";
import { keyColumn, nextColumn, whenColumn } from "../schedules/schedule-columns.tsx";

interface MemberTableProps extends More {
  schedules: readonly ScheduleSummary[];
}

export function MemberTable({ schedules, hasMore, onEnd }: MemberTableProps) {
  return (
    <VirtualTable
      label="Schedules of the group"
      className="members"
      columns={columns}
      rows={schedules}
      keyOf={({ id }) => id}
      hasMore={hasMore}
      onEnd={onEnd}
      empty="The group has no schedule."
    />
  );
}

const columns: readonly Column<ScheduleSummary>[] = [
  keyColumn,
  whenColumn,
  nextColumn,
  {
    name: "State",
    className: "state",
    cell: ({ state, holds: [hold] }) => (hold === undefined ? state : `‖ held by ${hold.owner}`),
  },
];
