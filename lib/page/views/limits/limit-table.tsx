import { Link } from "@tanstack/react-router";
import type { Limits } from "../../../client/limits.ts";
import { numberText } from "../../data/amounts.ts";
import type { More } from "../../data/more.ts";
import { Actor } from "../../parts/actor.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { type Column, VirtualTable } from "../../parts/virtual-table.tsx";

interface LimitTableProps extends More {
  limits: readonly Limits[];
  /** Null where the token may not change limits. */
  onEdit: ((target: string) => void) | null;
}

export function LimitTable({ limits, hasMore, onEnd, onEdit }: LimitTableProps) {
  return (
    <VirtualTable
      label="Limits"
      className="limits"
      columns={onEdit === null ? columns : [...columns, editColumn(onEdit)]}
      rows={limits}
      keyOf={({ target }) => target}
      hasMore={hasMore}
      onEnd={onEnd}
      empty="No target has a limit: their jobs start as fast as workers take them."
    />
  );
}

const columns: readonly Column<Limits>[] = [
  {
    name: "Target",
    className: "key",
    cell: ({ target }) => (
      <Link to="/schedules" search={{ target }} className="mono">
        {target}
      </Link>
    ),
  },
  { name: "At once", className: "limit", cell: AtOnceCell },
  { name: "Rate", className: "rate", cell: ({ rate }) => rate ?? <span className="faint">no limit</span> },
  { name: "Running", className: "running", cell: RunningCell },
  {
    name: "Waiting",
    className: "waiting",
    cell: ({ target, waiting }) =>
      waiting === 0 ? (
        <span className="faint">0</span>
      ) : (
        <Link to="/jobs" search={{ target, state: "waiting", upcoming: "false" }} className="link">
          {numberText(waiting)}
        </Link>
      ),
  },
  { name: "Set", className: "set", cell: SetCell },
];

const editColumn = (onEdit: (target: string) => void): Column<Limits> => ({
  name: "Change",
  className: "change",
  cell: ({ target }) => (
    <button
      type="button"
      className="button"
      aria-label={`Change the limits of ${target}`}
      onClick={() => onEdit(target)}
    >
      Change …
    </button>
  ),
});

function amountText(amount: number | null) {
  return amount === null ? <span className="faint">no limit</span> : numberText(amount);
}

function AtOnceCell({ concurrency, perTeam }: Limits) {
  if (perTeam === null) return amountText(concurrency);
  return (
    <>
      {amountText(concurrency)} <span className="faint">({numberText(perTeam)} a team)</span>
    </>
  );
}

/** A target that is full says so in words, and not by its bar alone. */
function RunningCell({ running, concurrency }: Limits) {
  if (concurrency === null) return numberText(running);
  const isFull = running >= concurrency;
  return (
    <span className="filled">
      <meter min={0} max={concurrency} value={Math.min(running, concurrency)} aria-hidden="true" />
      {numberText(running)} of {numberText(concurrency)}
      {isFull ? <b> full</b> : null}
    </span>
  );
}

function SetCell({ setAt, setBy, defined }: Limits) {
  if (setAt !== null)
    return (
      <>
        <Instant at={setAt} /> by <Actor name={setBy} />
      </>
    );
  const isDefined = defined.concurrency !== null || defined.rate !== null;
  return <span className="faint">{isDefined ? "in the handler's code" : "–"}</span>;
}
