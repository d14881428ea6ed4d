import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import type { BoardHold } from "../../../client/holds.ts";
import { countText, numberText, relativeText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { filterText } from "../../data/text/filter-words.ts";
import { useNow } from "../../hooks/use-now.ts";
import { Actor } from "../../parts/actor.tsx";
import { WiderHold } from "../../parts/release/wider-hold.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";
import { type HoldGroup, type HoldRow, holdRows } from "./hold-groups.ts";
import { ReleaseRow } from "./release-row.tsx";
import "../../look/more.css";

interface HoldTableProps extends More {
  holds: readonly BoardHold[];
  /** The words of a board without rows. */
  empty: ReactNode;
}

export function HoldTable({ holds, empty, hasMore, onEnd }: HoldTableProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [isReleasing, setReleasing] = useState(false);
  const now = useMemo(() => holdRows(holds, { hasMore, open }), [holds, hasMore, open]);
  const rows = useKept(now, isReleasing);
  const columns = useMemo(() => {
    const toggle = (id: string) =>
      setOpen((before) => {
        const after = new Set(before);
        if (!after.delete(id)) after.add(id);
        return after;
      });
    return columnsWith({ toggle, setReleasing });
  }, []);
  return (
    <VirtualTable
      label="Holds"
      className="holds"
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      hasMore={hasMore}
      onEnd={onEnd}
      empty={empty}
    />
  );
}

/**
 * The rows, as they were before a dialog was opened: after a release, a refresh of the board would take the row
 * away, and with it the sentence on what was done.
 */
function useKept(rows: readonly HoldRow[], isReleasing: boolean): readonly HoldRow[] {
  const [kept, setKept] = useState(rows);
  if (!isReleasing && kept !== rows) setKept(rows);
  return isReleasing ? kept : rows;
}

function keyOf(row: HoldRow): string {
  if ("group" in row) return row.group.id;
  const { scope, name, owner, since, endedAt } = row.hold;
  return `${scope} ${name} ${owner} ${since} ${endedAt}`;
}

/** The hold of a row; the members of a group have the same owner, reason and end. */
const holdOf = (row: HoldRow): BoardHold => ("group" in row ? row.group.members[0] : row.hold);

interface RowActions {
  toggle(id: string): void;
  setReleasing(isReleasing: boolean): void;
}

const columnsWith = ({ toggle, setReleasing }: RowActions): Column<HoldRow>[] => [
  {
    name: "Held",
    className: "name",
    cell: (row) =>
      "group" in row ? (
        <GroupCell {...row} toggle={() => toggle(row.group.id)} />
      ) : (
        <span className={row.isMember ? "of-group" : undefined}>
          <NameCell {...row.hold} />
        </span>
      ),
  },
  { name: "Owner", className: "owner", cell: (row) => holdOf(row).owner ?? "" },
  {
    name: "Reason",
    className: "reason",
    cell: (row) => <ReasonCell {...holdOf(row)} />,
  },
  { name: "Schedules", className: "members", cell: (row) => <Members row={row} /> },
  {
    name: "Since",
    className: "since",
    cell: (row) => {
      const { since } = holdOf(row);
      return since === null ? "" : <Instant at={since} />;
    },
  },
  { name: "Ends", className: "end", cell: (row) => <EndCell {...holdOf(row)} /> },
  {
    name: "Actions",
    className: "act",
    cell: (row) => <ReleaseRow row={row} onOpenChange={setReleasing} />,
  },
];

/** On a phone, where the columns have no heads, the number has its unit. */
function Members({ row }: { row: HoldRow }) {
  const text = membersText(row);
  return text === "" ? null : <span data-unit={text === "1" ? "schedule" : "schedules"}>{text}</span>;
}

function membersText(row: HoldRow): string {
  if ("group" in row) return countText({ count: row.group.members.length, more: row.group.hasMore });
  const { members } = row.hold;
  return members === null || row.isMember ? "" : numberText(members);
}

function ReasonCell({ reason, reach, releasable, state }: BoardHold) {
  return (
    <>
      <span title={reason ?? undefined}>{reason ?? ""}</span>{" "}
      {releasable || state !== "binding" ? null : (
        <WiderHold lead={reason === null ? "" : "· "} reach={reach} />
      )}
    </>
  );
}

interface GroupCellProps {
  group: HoldGroup;
  isOpen: boolean;
  toggle(): void;
}

function GroupCell({ group: { prefix }, isOpen, toggle }: GroupCellProps) {
  return (
    <button type="button" className="unfold" aria-expanded={isOpen} onClick={toggle}>
      <span className="hidden">Show the schedules </span>
      {prefix === "" ? "of different keys" : <span className="mono">{prefix}…</span>}
    </button>
  );
}

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
  if (scope === "filter") return filterText(name);
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
        ended {endedAt === null ? null : <Instant at={endedAt} />}{" "}
        {endedBy === null ? null : (
          <>
            by <Actor name={endedBy} />
          </>
        )}
      </>
    );
  if (until === null) return "no end is set";
  return (
    <>
      <Instant at={until} /> <span className="quiet">{relativeText(Date.parse(until), now)}</span>
    </>
  );
}
