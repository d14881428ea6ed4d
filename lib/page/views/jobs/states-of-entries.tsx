import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type JobState, type JobsByState, jobStates } from "../../../client/job.ts";
import { amountText, numberText } from "../../data/amounts.ts";
import { entryStatesQuery } from "../../data/job/entry-states.ts";
import { useRefreshMs } from "../../hooks/live.tsx";
import { useSession } from "../../hooks/session-context.ts";

const refreshMs = 2_000;

/** The words after a number of jobs. */
const countedWords: Readonly<Record<JobState, string>> = {
  waiting: "to run",
  running: "running",
  retrying: "waiting for a retry",
  succeeded: "ran",
  // As the filter by state has it: a count does not tell the two apart.
  skipped: "skipped or missed",
  dead: "dead",
  cancelled: "cancelled",
};

interface StatesOfEntriesProps {
  /** The entries of the audit that retries or cancels have written. */
  entries: readonly string[];
  /** The state that is listed. */
  chosen: JobState | undefined;
}

/** `What became of 47 jobs: 31 ran, 11 dead, 5 to run`: each number lists its jobs. */
export function StatesOfEntries({ entries, chosen }: StatesOfEntriesProps) {
  const { carillon } = useSession();
  const everyMs = useRefreshMs(refreshMs);
  const { data } = useQuery({
    ...entryStatesQuery(carillon, entries),
    refetchInterval: ({ state }) => (state.data !== undefined && isOver(state.data) ? false : everyMs),
  });
  const search = { entry: entries.join(",") };
  const parts = jobStates.filter((state) => (data?.states[state] ?? 0) > 0);
  return (
    <p role="status" className="fates" aria-busy={data === undefined}>
      <Link to="/jobs" search={search} className="link">
        What became of {data === undefined ? "the jobs" : amountText(data, "job")}
      </Link>
      {parts.map((state) => (
        <Link
          key={state}
          to="/jobs"
          search={{ ...search, state }}
          className="link"
          aria-current={state === chosen ? "true" : undefined}
        >
          {numberText(data?.states[state] ?? 0)} {countedWords[state]}
        </Link>
      ))}
    </p>
  );
}

const isOver = ({ states }: JobsByState) => states.waiting + states.running + states.retrying === 0;
