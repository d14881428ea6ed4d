import { Link } from "@tanstack/react-router";
import type { QuarantineEntry } from "../../../client/quarantine.ts";
import { numberText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface EntryTableProps extends More {
  entries: readonly QuarantineEntry[];
}

export function EntryTable({ entries, hasMore, onEnd }: EntryTableProps) {
  return (
    <VirtualTable
      label="Quarantine"
      className="entries-aside"
      columns={columns}
      rows={entries}
      keyOf={keyOf}
      hasMore={hasMore}
      onEnd={onEnd}
      empty="It is empty. A row on which a part of Carillon fails is listed here until a retry succeeds."
    />
  );
}

const keyOf = ({ consumer, item }: QuarantineEntry) => `${consumer}/${item}`;

const columns: readonly Column<QuarantineEntry>[] = [
  {
    name: "Row",
    className: "row-name",
    cell: ({ key, consumer, item }) =>
      key === null ? (
        <span className="mono">{`${consumer} ${item}`}</span>
      ) : (
        <Link to="/schedules/$key" params={{ key }} className="mono">
          {key}
        </Link>
      ),
  },
  { name: "Part of Carillon", className: "consumer", cell: ({ consumer }) => consumer },
  { name: "Error", className: "error", cell: ({ reason }) => <span title={reason}>{reason}</span> },
  {
    name: "Since",
    className: "since",
    cell: ({ firstAt, tries }) => (
      <>
        <Instant at={firstAt} />{" "}
        <span className="quiet">{tries === 1 ? "1 try" : `${numberText(tries)} tries`}</span>
      </>
    ),
  },
  { name: "Next retry", className: "retry", cell: ({ nextAt }) => <Instant at={nextAt} as="relative" /> },
];
