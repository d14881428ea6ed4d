import { Link } from "@tanstack/react-router";
import type { Outage } from "../../../client/stats.ts";
import { spanText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { outageWords } from "../../data/outage-queries.ts";
import { useNow } from "../../hooks/use-now.ts";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";
import { readJobSearch } from "../jobs/job-search.ts";
import { lostSearchOf } from "./lost-search.ts";

interface OutageTableProps extends More {
  outages: readonly Outage[];
  /** When they were known: one that lasted then may be over. */
  seenAt: number;
}

export function OutageTable({ outages, seenAt, hasMore, onEnd }: OutageTableProps) {
  return (
    <VirtualTable
      label="Outages"
      className="outages"
      columns={columns}
      rows={outages.map((outage) => ({ ...outage, seenAt }))}
      keyOf={idOf}
      hasMore={hasMore}
      onEnd={onEnd}
      empty="None is recorded. Gaps between ticks of up to 150 seconds are no outage."
    />
  );
}

type SeenOutage = Outage & Pick<OutageTableProps, "seenAt">;

const idOf = ({ id }: Outage) => id;

const columns: readonly Column<SeenOutage>[] = [
  { name: "Outage", className: "what", cell: ({ what }) => outageWords[what] },
  { name: "From", className: "from", cell: ({ from }) => <Instant at={from} as="exact" /> },
  {
    name: "To",
    className: "to",
    cell: ({ to }) => (to === null ? <b className="lasts">■ lasts still</b> : <Instant at={to} as="exact" />),
  },
  { name: "Lasted", className: "lasted", cell: (outage) => <Lasted {...outage} /> },
  { name: "Runs", className: "effects", cell: (outage) => <Effects {...outage} /> },
];

/** The links to the runs that came late by it, and to those that did not come. */
function Effects(outage: Outage) {
  const now = useNow();
  const of = <span className="hidden"> of the outage from {outage.from}</span>;
  return (
    <>
      <Link to="/jobs" search={readJobSearch(outage.see.query)} className="link">
        Late jobs{of}
      </Link>
      <Link to="/agenda" search={lostSearchOf(outage, now)} className="link">
        What did not run{of}
      </Link>
    </>
  );
}

const Lasted = ({ from, to, seenAt }: SeenOutage) =>
  spanText((to === null ? seenAt : Date.parse(to)) - Date.parse(from));
