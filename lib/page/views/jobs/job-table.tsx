import { Link } from "@tanstack/react-router";
import type { JobSummary } from "../../../client/job.ts";
import { fineSpanText, spanText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { outcomeOfState } from "../../data/outcomes.ts";
import { causeText } from "../../data/reason-words.ts";
import { OutcomeWord } from "../../parts/outcome-mark.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface JobTableProps extends More {
  jobs: readonly JobSummary[];
}

export function JobTable({ jobs, hasMore, onEnd }: JobTableProps) {
  return (
    <VirtualTable
      label="Jobs"
      className="jobs"
      columns={columns}
      rows={jobs}
      keyOf={({ id }) => id}
      hasMore={hasMore}
      onEnd={onEnd}
      empty={hasMore ? "Still searching …" : "No job matches."}
    />
  );
}

/** A late start of less than this is on time. */
const onTimeMs = 1_000;

const columns: readonly Column<JobSummary>[] = [
  {
    name: "State",
    className: "state",
    cell: ({ state, reason }) => <OutcomeWord outcome={outcomeOfState(state)} reason={reason} />,
  },
  {
    name: "Schedule",
    className: "key",
    cell: ({ key }) => (
      <Link to="/schedules/$key" params={{ key }} className="mono">
        {key}
      </Link>
    ),
  },
  {
    name: "Due",
    className: "due",
    cell: ({ dueAt, occurrence, key }) => <Instant at={dueAt} of={key} search={occurrence} />,
  },
  {
    name: "Late",
    className: "late",
    cell: ({ latenessMs }) => <Late ms={latenessMs} />,
  },
  {
    name: "Took",
    className: "took",
    cell: ({ durationMs }) => (durationMs === null ? "" : fineSpanText(durationMs)),
  },
  {
    name: "Why",
    className: "cause",
    cell: (job) => {
      const why = causeText(job);
      return <span title={why}>{why}</span>;
    },
  },
  {
    name: "Job",
    className: "job",
    cell: ({ id }) => (
      <Link to="/jobs/$id" params={{ id }} className="link" data-open>
        show
      </Link>
    ),
  },
];

function Late({ ms }: { ms: number | null }) {
  if (ms === null)
    return (
      <span className="faint" title="It has not started.">
        –
      </span>
    );
  return ms <= onTimeMs ? <span className="quiet">on time</span> : spanText(ms);
}
