import { Link } from "@tanstack/react-router";
import type { AgendaItem } from "../../../client/agenda.ts";
import { fineSpanText, numberText, spanText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { whyText } from "../../data/reason-words.ts";
import { Actor } from "../../parts/actor.tsx";
import { OutcomeWord } from "../../parts/outcome-mark.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface AgendaTableProps extends More {
  items: readonly AgendaItem[];
  /** Only items with one outcome are listed. */
  isOfOutcome: boolean;
  /** The expressions of live schedules give occurrences, but none is listed. */
  isCounted: boolean;
}

export function AgendaTable({ items, isOfOutcome, isCounted, hasMore, onEnd }: AgendaTableProps) {
  return (
    <VirtualTable
      label="Occurrences"
      className="agenda"
      columns={columns}
      rows={items}
      keyOf={({ scheduleId, occurrence, kind, job, passedOver }) =>
        `${scheduleId} ${occurrence} ${kind} ${job} ${passedOver?.from}`
      }
      hasMore={hasMore}
      onEnd={onEnd}
      empty={hasMore ? "Still searching …" : emptyText({ isOfOutcome, isCounted })}
    />
  );
}

function emptyText({ isOfOutcome, isCounted }: Pick<AgendaTableProps, "isOfOutcome" | "isCounted">): string {
  if (isOfOutcome) return "No run in this time has this outcome.";
  if (!isCounted) return "Nothing occurs in this time.";
  return "Nothing occurs in this time. The count is that of the expressions alone: their schedules may be newer than this time, or “not before”, “not from” or “most runs” leaves these runs out.";
}

/** A late start of less than this is on time. */
const onTimeMs = 1_000;

const columns: readonly Column<AgendaItem>[] = [
  { name: "At", className: "at", cell: ({ occurrence, key }) => <Instant at={occurrence} of={key} /> },
  {
    name: "Schedule",
    className: "key",
    cell: ({ key, occurrence }) => (
      <Link to="/schedules/$key" params={{ key }} search={{ why: occurrence }} className="mono" data-open>
        {key}
      </Link>
    ),
  },
  {
    name: "Outcome",
    className: "outcome-cell",
    cell: ({ outcome, reason }) => <OutcomeWord outcome={outcome} reason={reason} />,
  },
  { name: "More", className: "more", cell: MoreCell },
];

/** A held occurrence leads to its holds on the board. */
function MoreCell(item: AgendaItem) {
  const { key, heldBy: [hold, ...others] = [] } = item;
  const text = moreText(item);
  if (hold === undefined) return text;
  const more = others.length === 0 ? "" : ` and ${numberText(others.length)} more`;
  return (
    <>
      <Link to="/holds" search={{ prefix: key }} className="link">
        held by <Actor name={hold.owner} />
        {more}
      </Link>
      {hold.reason === null ? null : `: ${hold.reason}`}
      {text === "" ? null : `, ${text}`}
    </>
  );
}

function moreText({ outcome, passedOver, latenessMs, durationMs, reason, note }: AgendaItem): string {
  const parts = [
    passedOver === null || passedOver.count === null || passedOver.count === 1
      ? null
      : `${numberText(passedOver.count)} occurrences`,
    whyText(outcome, reason),
    latenessMs !== null && latenessMs > onTimeMs ? `${spanText(latenessMs)} late` : null,
    durationMs === null ? null : `took ${fineSpanText(durationMs)}`,
    note,
  ];
  return parts.filter((part) => part !== null && part !== undefined).join(", ");
}
