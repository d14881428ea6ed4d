import { Link } from "@tanstack/react-router";
import type { ListedGroup } from "../../../client/groups.ts";
import { amountText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface GroupTableProps extends More {
  groups: readonly ListedGroup[];
  /** The beginning of the names that were asked for. */
  prefix: string | undefined;
}

export function GroupTable({ groups, prefix, hasMore, onEnd }: GroupTableProps) {
  return (
    <VirtualTable
      label="Groups"
      className="group-list"
      columns={columns}
      rows={groups}
      keyOf={({ group }) => group}
      hasMore={hasMore}
      onEnd={onEnd}
      empty={hasMore ? "Still searching …" : emptyText(prefix)}
    />
  );
}

function emptyText(prefix: string | undefined): string {
  return prefix === undefined
    ? "No schedule has a group. A schedule joins one by its field group."
    : "No group begins with that.";
}

const columns: readonly Column<ListedGroup>[] = [
  {
    name: "Group",
    className: "key",
    cell: ({ group }) => (
      <Link to="/groups/$group" params={{ group }} className="mono">
        {group}
      </Link>
    ),
  },
  {
    name: "Schedules",
    className: "count",
    cell: ({ group, schedules, moreSchedules }) => (
      <Link to="/schedules" search={{ group }} className="link">
        {amountText({ count: schedules, more: moreSchedules }, "schedule")}
      </Link>
    ),
  },
  {
    name: "Such as",
    className: "sample",
    cell: ({ sample }) => (
      <Link to="/schedules/$key" params={{ key: sample }} className="mono">
        {sample}
      </Link>
    ),
  },
];
