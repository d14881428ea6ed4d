import { Link } from "@tanstack/react-router";
import type { BoardHold } from "../../../client/holds.ts";
import { numberText, relativeText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { useNow } from "../../hooks/use-now.ts";
import { Instant } from "../../parts/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface HoldTableProps extends More {
  holds: readonly BoardHold[];
}

export function HoldTable({ holds, hasMore, onEnd }: HoldTableProps) {
  return (
    <VirtualTable
      label="Holds"
      className="holds"
      columns={columns}
      rows={holds}
      keyOf={({ scope, name, owner, since, endedAt }) => `${scope} ${name} ${owner} ${since} ${endedAt}`}
      hasMore={hasMore}
      onEnd={onEnd}
      empty="Nothing is held."
    />
  );
}

const columns: readonly Column<BoardHold>[] = [
  { name: "Held", className: "name", cell: (hold) => <NameCell {...hold} /> },
  { name: "Owner", className: "owner", cell: ({ owner }) => owner ?? "" },
  {
    name: "Reason",
    className: "reason",
    cell: ({ reason }) => <span title={reason ?? undefined}>{reason ?? ""}</span>,
  },
  {
    name: "Schedules",
    className: "members",
    cell: ({ members }) => (members === null ? "" : numberText(members)),
  },
  { name: "Since", className: "since", cell: ({ since }) => (since === null ? "" : <Instant at={since} />) },
  { name: "Ends", className: "end", cell: (hold) => <EndCell {...hold} /> },
];

function NameCell({ scope, name }: BoardHold) {
  if (scope === "schedule")
    return (
      <Link to="/schedules/$key" params={{ key: name }} className="mono">
        {name}
      </Link>
    );
  if (scope === "group")
    return (
      <Link to="/groups/$group" params={{ group: name }}>
        <span className="quiet">group </span>
        <span className="mono">{name}</span>
      </Link>
    );
  if (scope === "filter") return <span className="mono">{name}</span>;
  return (
    <Link to="/schedules" search={{ tag: name }}>
      <span className="quiet">tag </span>
      <span className="mono">{name}</span>
    </Link>
  );
}

function EndCell({ state, until, endedAt, endedBy }: BoardHold) {
  const now = useNow();
  if (state === "ended")
    return (
      <>
        {endedAt === null ? "ended" : <Instant at={endedAt} />} {endedBy === null ? "" : `by ${endedBy}`}
      </>
    );
  if (until === null) return "no end is set";
  return (
    <>
      <Instant at={until} /> <span className="quiet">{relativeText(Date.parse(until), now)}</span>
    </>
  );
}
