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
        Counted by the expressions of live schedules, whatever becomes of the runs: before holds, days that a
        calendar skips, “not before”, “not from” and “most runs”. The load leaves held runs out.
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
    cell: ({ occurrences }) => amountText({ count: occurrences, more: false }, "run"),
  },
  { name: "Schedules", className: "key", cell: (of) => <Members {...of} /> },
];

/** The runs on a day that the calendar leaves out. */
const onText = {
  skip: "skipped",
  next: "moved to the next day",
  previous: "moved to the day before",
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
