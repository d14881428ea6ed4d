import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { AgendaCounts, AgendaOutcome, AgendaWindow } from "../../../client/agenda.ts";
import { agendaSchedulesQuery } from "../../data/agenda-queries.ts";
import { listRefreshMs } from "../../hooks/list-refresh.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import {
  countsText,
  type Listed,
  leftOutText,
  movedRunsText,
  outcomeText,
  withListed,
} from "./counts-text.ts";

/** The runs of a window with one outcome, as the server counts them. */
export function useOutcomeCounts(window: AgendaWindow, outcome: AgendaOutcome) {
  const { carillon } = useSession();
  const refetchInterval = useRefreshMs(listRefreshMs);
  return useQuery({ ...agendaSchedulesQuery(carillon, { ...window, outcome }), refetchInterval }).data;
}

interface AgendaHeadlineProps {
  window: AgendaWindow;
  /** The chosen outcome, where it is in force. */
  outcome: AgendaOutcome | undefined;
  /** Undefined until the counts and the rows have arrived. */
  counts: AgendaCounts | undefined;
  listed: Listed | undefined;
  /** The window that was typed is not applied yet. */
  isOutdated: boolean;
}

/**
 * How many runs the window has, and as links how many calendars leave out and, without a chosen outcome, how
 * many are held.
 */
export function AgendaHeadline({ window, outcome, counts, listed, isOutdated }: AgendaHeadlineProps) {
  const found = useOutcomeCounts(window, outcome ?? "held");
  const amount =
    found === undefined
      ? undefined
      : outcomeText(withListed(found, outcome, listed), outcome ?? "held", window);
  const moves = movedRunsText(listed?.items ?? []);
  const className = isOutdated ? "quiet outdated" : "quiet";
  const isAwaited = counts === undefined || (outcome !== undefined && amount === undefined);
  return (
    <div className="counts">
      <p className={className}>
        {isOutdated ? <span className="hidden">of the window before: </span> : null}
        {isAwaited ? "…" : countsText(counts, { chosen: outcome === undefined ? undefined : amount, listed })}
        {isAwaited || counts.leftOut === 0 || outcome === "skipped" ? null : (
          <>
            {" · "}
            <Link
              to="/agenda"
              search={(before) => ({ ...before, rows: undefined, outcome: "skipped" })}
              className="link"
            >
              {leftOutText(counts)}
            </Link>
          </>
        )}
      </p>
      {moves === null ? null : <p className={className}>{moves}</p>}
      {outcome !== undefined || found === undefined || found.occurrences === 0 ? null : (
        <p className={className}>
          <Link
            to="/agenda"
            search={(before) => ({ ...before, rows: undefined, outcome: "held" })}
            className="link"
          >
            {amount}
          </Link>
        </p>
      )}
    </div>
  );
}
