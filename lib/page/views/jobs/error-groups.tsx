import { Link } from "@tanstack/react-router";
import type { JobGroup } from "../../../client/job.ts";
import { amountText, countText } from "../../data/amounts.ts";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

interface ErrorGroupsProps {
  groups: readonly JobGroup[];
  /** Whether these are only the groups whose jobs are listed. */
  isChosen: boolean;
  onChoose(errorGroup: string | undefined): void;
}

/** The errors of the dead jobs, the most frequent first; once one is chosen, that one. */
export function ErrorGroups({ groups, isChosen, onChoose }: ErrorGroupsProps) {
  if (groups.length === 0 && !isChosen) return null;
  const showAll = (
    <button type="button" className="text-button" onClick={() => onChoose(undefined)}>
      Show all errors
    </button>
  );
  return (
    <Panel title="By error" note={isChosen ? showAll : "of dead jobs, the most frequent first"}>
      {groups.length === 0 ? <p className="rows-none">No job of this error is dead any more.</p> : null}
      <ul className="groups errors">
        {groups.map((group) => (
          <li key={group.errorGroup ?? group.target} aria-current={isChosen ? "true" : undefined}>
            <b>{countText(group)}</b>
            <ErrorWords {...group} />
            {group.errorGroup === null || isChosen ? null : (
              <button
                type="button"
                className="button"
                onClick={() => onChoose(group.errorGroup ?? undefined)}
              >
                Show
              </button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Schedules can be searched by their target, and not by an error. */
function ErrorWords({ error, target, schedules, lastAt }: JobGroup) {
  return (
    <p>
      {error ?? "no error"}
      <span className="quiet">
        {" "}
        at {target ?? "an unknown target"}, {amountText({ count: schedules, more: false }, "schedule")}, last{" "}
        <Instant at={lastAt} />
        {target === null ? null : (
          <>
            .{" "}
            <Link to="/schedules" search={{ target, failing: "true" }} className="link">
              Failing schedules of this target, with any error
            </Link>
          </>
        )}
      </span>
    </p>
  );
}
