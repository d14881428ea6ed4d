import { Link } from "@tanstack/react-router";
import type { Strip } from "../../../client/agenda.ts";
import type { Schedule } from "../../../client/schedule.ts";
import { Freshness } from "../../parts/freshness.tsx";
import { Instant } from "../../parts/instant.tsx";
import { Sentence } from "../../parts/sentence.tsx";

interface ScheduleHeadProps {
  /** When the answer on the screen arrived. */
  at: number;
  name: string;
  schedule: Schedule | undefined;
  deleted: Strip["deleted"];
}

/** Describes the schedule in a sentence and by its fields. */
export function ScheduleHead({ at, name, schedule, deleted }: ScheduleHeadProps) {
  return (
    <header className="schedule-head">
      <div className="head-actions">
        <h1 className="mono">{name}</h1>
        <Freshness at={at} />
      </div>
      {schedule === undefined ? null : (
        <p className="quiet">
          <Sentence text={schedule.cadenceText} of={name} />; {stateText(schedule)}
          {schedule.calendar === null ? null : (
            <>
              ; calendar{" "}
              <Link className="link" to="/calendars/$name" params={{ name: schedule.calendar.name }}>
                {schedule.calendar.name}
              </Link>
            </>
          )}
        </p>
      )}
      {schedule === undefined && deleted !== null ? (
        <p className="quiet">
          deleted <Instant at={deleted.at} /> by {deleted.by}
        </p>
      ) : null}
      {schedule?.warnings.map((warning) => (
        <p key={warning} className="notice">
          {warning}
        </p>
      ))}
    </header>
  );
}

function stateText({ state, holds, version, updatedBy }: Schedule): string {
  const held = holds
    .map(({ owner, reason }) => `${owner}${reason === null ? "" : ` (“${reason}”)`}`)
    .join(", ");
  const now = state === "paused" ? `held by ${held}` : state;
  return `${now}; version ${version}, saved by ${updatedBy}`;
}
