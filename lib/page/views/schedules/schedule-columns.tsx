import { Link } from "@tanstack/react-router";
import type { ScheduleSummary } from "../../../client/schedule.ts";
import { Instant } from "../../parts/instant.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import type { Column } from "../../parts/virtual-table.tsx";

export const keyColumn: Column<ScheduleSummary> = {
  name: "Key",
  className: "key",
  cell: ({ key }) => (
    <Link to="/schedules/$key" params={{ key }} className="mono">
      {key}
    </Link>
  ),
};

export const whenColumn: Column<ScheduleSummary> = {
  name: "When",
  className: "when",
  cell: ({ cadenceText, cadence }) => (
    <span title={cadence}>
      <Sentence text={cadenceText} />
    </span>
  ),
};

export const nextColumn: Column<ScheduleSummary> = {
  name: "Next run",
  className: "next",
  cell: ({ key, nextAt }) =>
    nextAt === null ? <span className="faint">–</span> : <Instant at={nextAt} of={key} />,
};
