import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { documentOf } from "../../data/document/schedule-document.ts";
import { scheduleQuery } from "../../data/one-schedule-queries.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";
import { AnswerState } from "../../parts/answer-state.tsx";
import { Editor } from "./editor.tsx";

const refreshMs = 10_000;

/** The editor of a schedule. It notices a version that another caller saves meanwhile. */
export function EditSchedule() {
  const { carillon } = useSession();
  const { key } = useParams({ from: "/schedules/$key/edit" });
  const schedule = useQuery({ ...scheduleQuery(carillon, key), refetchInterval: useRefreshMs(refreshMs) });
  return (
    <>
      <header className="schedule-head">
        <h1>
          Edit{" "}
          <Link to="/schedules/$key" params={{ key }} className="mono link">
            {key}
          </Link>
        </h1>
        {schedule.data?.unreadable === undefined ? null : (
          <p className="notice bad">
            The stored version cannot be read: {schedule.data.unreadable} Fields that cannot be read show
            their defaults here, and saving replaces them.
          </p>
        )}
      </header>
      {schedule.data === undefined ? (
        <AnswerState
          error={schedule.error}
          isPending={schedule.isPending}
          retry={() => void schedule.refetch()}
        />
      ) : (
        <Editor
          key={key}
          stored={schedule.data}
          begin={documentOf(schedule.data)}
          refetch={() => void schedule.refetch()}
        />
      )}
    </>
  );
}
