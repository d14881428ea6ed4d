import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { JobGroups } from "../../../client/job.ts";
import { amountText, countText } from "../../data/amounts.ts";
import { Panel } from "../../parts/panel.tsx";
import { Instant } from "../../parts/time/instant.tsx";

interface ErrorGroupsProps {
  groups: JobGroups;
  /** The group whose jobs are listed. */
  chosen: string | undefined;
  onChoose(errorGroup: string | undefined): void;
}

/** The errors of the dead jobs, the most frequent first. */
export function ErrorGroups({ groups, chosen, onChoose }: ErrorGroupsProps) {
  if (groups.items.length === 0) return null;
  return (
    <Panel title="By error" note="of dead jobs, the most frequent first">
      <ul className="groups">
        {groups.items.map(({ errorGroup, target, error, count, more, schedules, lastAt }) => (
          <li
            key={errorGroup ?? target}
            aria-current={errorGroup !== null && errorGroup === chosen ? "true" : undefined}
          >
            <b>{countText({ count, more })}</b>
            <p>
              {error ?? "no error"}
              <span className="quiet">
                {" "}
                at {target ?? "an unknown target"},{" "}
                <SchedulesOf target={target}>
                  {amountText({ count: schedules, more: false }, "schedule")}
                </SchedulesOf>
                , last <Instant at={lastAt} />
              </span>
            </p>
            {errorGroup === null ? null : (
              <button
                type="button"
                className="button"
                onClick={() => onChoose(errorGroup === chosen ? undefined : errorGroup)}
              >
                {errorGroup === chosen ? "Show all" : "Show"}
              </button>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The failing schedules of the target; its other errors may have more of them. */
function SchedulesOf({ target, children }: { target: string | null; children: ReactNode }) {
  if (target === null) return children;
  return (
    <Link to="/schedules" search={{ target, failing: "true" }} className="link">
      {children}
    </Link>
  );
}
