import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import type { Strip } from "../../../client/agenda.ts";
import type { Hold, Schedule } from "../../../client/schedule.ts";
import { movesText } from "../../data/text/moves-text.ts";
import type { Seen } from "../../hooks/use-is-old.ts";
import { Actor } from "../../parts/actor.tsx";
import { Freshness } from "../../parts/freshness.tsx";
import { Sentence } from "../../parts/sentence.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { OtherZone } from "../../parts/time/other-zone.tsx";

interface ScheduleHeadProps {
  /** The answer on the screen, and the pause between two of its refreshes. */
  seen: Seen;
  everyMs: number;
  name: string;
  schedule: Schedule | undefined;
  deleted: Strip["deleted"];
}

/** Describes the schedule in a sentence and by its fields. */
export function ScheduleHead({ seen, everyMs, name, schedule, deleted }: ScheduleHeadProps) {
  return (
    <header className="schedule-head">
      <div className="head-actions">
        <h1 className="mono">{name}</h1>
        <Freshness of={seen} everyMs={everyMs} />
      </div>
      {schedule === undefined ? null : (
        <p className="quiet">
          <Sentence text={schedule.cadenceText} of={name} />
          {movesText(schedule)}; <StateText schedule={schedule} />
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
          deleted <Instant at={deleted.at} /> by <Actor name={deleted.by} />
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

function StateText({ schedule: { state, holds, version, updatedBy, timezone } }: { schedule: Schedule }) {
  return (
    <>
      {state === "paused" ? "held by " : state}
      {state !== "paused"
        ? null
        : holds.map(({ owner, reason, until, group, tag }, place) => (
            <Fragment key={`${owner} ${group} ${tag}`}>
              {place === 0 ? "" : ", "}
              <Actor name={owner} />
              <Through group={group} tag={tag} owner={owner} />
              {reason === null ? "" : ` (“${reason}”)`}
              {until === null ? (
                " without an end"
              ) : (
                <>
                  {" "}
                  until <Instant at={until} />
                  <OtherZone than={timezone} />
                </>
              )}
            </Fragment>
          ))}
      ; version {version}, saved by <Actor name={updatedBy} />
    </>
  );
}

/** A hold of a group or a tag is released for all its members, in the view that it leads to. */
function Through({ group, tag, owner }: { [Part in "group" | "tag" | "owner"]: Hold[Part] | undefined }) {
  if (group === undefined && tag === undefined) return null;
  return (
    <>
      {" "}
      through the{" "}
      {group === undefined ? (
        <Link className="link" to="/holds" search={{ owner }}>
          hold of the tag {tag}
        </Link>
      ) : (
        <Link className="link" to="/groups/$group" params={{ group }}>
          hold of the group {group}
        </Link>
      )}
    </>
  );
}
