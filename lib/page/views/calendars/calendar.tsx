import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { isNotFound } from "../../../client/request/problem.ts";
import { numberText } from "../../data/amounts.ts";
import { calendarQuery } from "../../data/calendar-queries.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Actor } from "../../parts/actor.tsx";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Instant } from "../../parts/time/instant.tsx";
import { CalendarEditor } from "./calendar-editor.tsx";
import { usedText } from "./used-text.ts";
import "../../look/calendars.css";
import "../../look/edit.css";
import "../../look/schedule.css";
import "../../look/schedule-parts.css";

export function CalendarView() {
  const { carillon } = useSession();
  const { name } = useParams({ from: "/calendars/$name" });
  const calendar = useQuery(calendarQuery(carillon, name));
  const isMissing = isNotFound(calendar.error);
  const { data } = calendar;
  return (
    <>
      <header className="schedule-head">
        <h1>{name}</h1>
        {isMissing ? <p className="quiet">There is no calendar of this name yet.</p> : null}
        {data === undefined || isMissing ? null : (
          <p className="quiet">
            <Link to="/schedules" search={{ calendar: name }} className="link">
              {usedText(data)}
            </Link>
            {data.pending === 0
              ? ""
              : `, ${numberText(data.pending)} of them are still planned by older rules`}
            ; version {data.version}, <Instant at={data.updatedAt} /> by <Actor name={data.updatedBy} />
          </p>
        )}
      </header>
      {data === undefined && !isMissing ? (
        <AnswerState
          error={calendar.error}
          isPending={calendar.isPending}
          retry={() => void calendar.refetch()}
        />
      ) : (
        <CalendarEditor
          key={`${name} ${isMissing}`}
          name={name}
          stored={isMissing ? undefined : data}
          refetch={() => void calendar.refetch()}
        />
      )}
    </>
  );
}
