import { Link } from "@tanstack/react-router";
import type { ScheduleSummary } from "../../../client/schedule.ts";
import { Instant } from "../../parts/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface MemberTableProps {
  schedules: readonly ScheduleSummary[];
  hasMore: boolean;
  onEnd(): void;
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
  {
    name: "Key",
    className: "key",
    cell: ({ key }) => (
      <Link to="/schedules/$key" params={{ key }} className="mono">
        {key}
      </Link>
    ),
  },
  {
    name: "When",
    className: "when",
    cell: ({ cadenceText, cadence }) => <span title={cadence}>{cadenceText}</span>,
  },
  {
    name: "Next run",
    className: "next",
    cell: ({ key, nextAt }) =>
      nextAt === null ? <span className="faint">–</span> : <Instant at={nextAt} of={key} />,
  },
  {
    name: "State",
    className: "state",
    cell: ({ state, holds: [hold] }) => (hold === undefined ? state : `‖ held by ${hold.owner}`),
  },
];
