import { Link } from "@tanstack/react-router";
import type { AgendaCounts, AgendaOutcome } from "../../../client/agenda.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";
import { outcomeWord } from "./outcome-words.ts";

type ExpressionCount = AgendaCounts["items"][number];

interface ExpressionTableProps {
  counts: AgendaCounts;
  /** Chosen for the list of runs, and not in force here. */
  outcome: AgendaOutcome | undefined;
}

/** One row for all runs of one expression, so that frequent ones hide no others. The server counts them. */
export function ExpressionTable({ counts, outcome }: ExpressionTableProps) {
  const { items, cadences } = counts;
  return (
    <>
      <p className="quiet expressions-note">
        {items.length < cadences ? `The ${numberText(items.length)} with most runs. ` : ""}
        {outcome === undefined ? "" : `For all outcomes: “${outcomeWord(outcome)}” is not in force here. `}
        Counted by the expressions of live schedules, whatever becomes of the runs: before holds, “not
        before”, “not from” and “most runs”. The load leaves held runs out. It counts a run in the minute to
        which its spread or slot moves it.
      </p>
      <VirtualTable
        label="Expressions"
        className="expressions"
        columns={columns}
        rows={items}
        keyOf={({ rule }) => rule}
        hasMore={false}
        onEnd={() => {}}
        empty="Nothing occurs in this time."
      />
    </>
  );
}

const columns: readonly Column<ExpressionCount>[] = [
  {
    name: "Expression",
    className: "when",
    cell: ({ when }) => (when === null ? "single times" : <span className="mono">{when}</span>),
  },
  { name: "Zone", className: "zone", cell: zoneText },
  {
    name: "Runs",
    className: "count",
    cell: (of) => <Runs {...of} />,
  },
  { name: "Schedules", className: "key", cell: (of) => <Members {...of} /> },
];

/** The runs that its calendar allows, and the way to those that it leaves out. */
function Runs({ rule, occurrences, leftOut }: ExpressionCount) {
  return (
    <>
      {amountText({ count: occurrences - leftOut, more: false }, "run")}
      {leftOut === 0 ? null : (
        <span className="quiet">
          {", "}
          <Link
            to="/agenda"
            search={(before) => ({ ...before, rule, rows: undefined, outcome: "skipped" })}
            className="link"
          >
            {numberText(leftOut)} left out
          </Link>
        </span>
      )}
    </>
  );
}

/** The rule for the days of its calendar. */
const onText = {
  skip: "no run on its days",
  next: "runs of its days move to the next day",
  previous: "runs of its days move to the day before",
} as const;

function zoneText({ timezone, calendar }: ExpressionCount): string {
  const parts = [timezone, calendar === null ? null : `calendar ${calendar.name}: ${onText[calendar.on]}`];
  return parts.filter((part) => part !== null).join(", ");
}

/** A schedule of the expression, and the way to all of them. */
function Members({ rule, schedules, sample }: ExpressionCount) {
  const amount = (count: number, one: string) => (
    <Link to="/agenda" search={(before) => ({ ...before, rule, rows: undefined })} className="link">
      {amountText({ count, more: false }, one)}
    </Link>
  );
  if (sample === null) return amount(schedules, "schedule");
  return (
    <>
      <Link to="/schedules/$key" params={{ key: sample }} className="mono">
        {sample}
      </Link>
      {schedules === 1 ? null : <span className="quiet"> and {amount(schedules - 1, "other")}</span>}
    </>
  );
}
