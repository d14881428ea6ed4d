import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { AgendaSchedules, AgendaWindow } from "../../../client/agenda.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { useOutcomeCounts } from "./agenda-headline.tsx";

/** The list is cut to this length at first: the runs beneath it stay on the first screen. */
const shownMax = 5;

/** The schedules whose runs of the window are held, with owner, reason and end. */
export function HeldSchedules({ window }: { window: AgendaWindow }) {
  const counts = useOutcomeCounts(window, "held");
  const [isWhole, setWhole] = useState(false);
  if (counts === undefined || counts.items.length === 0) return null;
  const { items, schedules } = counts;
  const shown = isWhole ? items : items.slice(0, shownMax);
  const rest = schedules - items.length;
  return (
    <Panel title="Held schedules" note="the number of held runs, in the order of the first">
      <ul className="groups held-schedules" aria-label="Held schedules">
        {shown.map((item) => (
          <HeldSchedule key={item.scheduleId} held={item} />
        ))}
      </ul>
      {items.length <= shownMax ? null : (
        <p className="minute-note">
          <button
            type="button"
            className="text-button"
            aria-expanded={isWhole}
            onClick={() => setWhole(!isWhole)}
          >
            {isWhole ? `Show the first ${shownMax}` : `Show all ${numberText(items.length)}`}
          </button>
          {isWhole && rest > 0 ? ` The list has the first ${numberText(items.length)} of them.` : null}
        </p>
      )}
    </Panel>
  );
}

type Held = AgendaSchedules["items"][number];

function HeldSchedule({ held: { key, occurrences, first, heldBy = [] } }: { held: Held }) {
  return (
    <li>
      <b title={amountText({ count: occurrences, more: false }, "held run")}>{numberText(occurrences)}</b>
      <p>
        <Link to="/schedules/$key" params={{ key }} search={{ why: first }} className="mono">
          {key}
        </Link>{" "}
        <span className="quiet">{heldBy.map(holderText).join(", ")}</span>
      </p>
      <small>
        <Link to="/holds" search={{ prefix: key }} className="link">
          <Until heldBy={heldBy} />
        </Link>
      </small>
    </li>
  );
}

function holderText({ owner, reason }: NonNullable<Held["heldBy"]>[number]): string {
  return reason === null || reason === "" ? `held by ${owner}` : `held by ${owner}: ${reason}`;
}

/** A run is held until the last of its holds ends. */
function Until({ heldBy }: { heldBy: NonNullable<Held["heldBy"]> }) {
  const ends = heldBy.flatMap(({ until }) => until ?? []).toSorted();
  const last = ends.at(-1);
  if (last === undefined || ends.length < heldBy.length) return "until released";
  return (
    <>
      until <Instant at={last} />
    </>
  );
}
