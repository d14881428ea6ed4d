import { Link } from "@tanstack/react-router";
import { Instant } from "../../parts/time/instant.tsx";

const minuteMs = 60_000;

interface PlannedMinuteProps {
  at: string;
  /** The schedules that are looked at. */
  prefix: string | undefined;
}

/** A minute of the plan, as a link to the expressions and schedules that make its runs. */
export function PlannedMinute({ at, prefix }: PlannedMinuteProps) {
  return (
    <Link className="link" to="/agenda" search={minuteSearch(Date.parse(at), prefix)}>
      <Instant at={at} />
    </Link>
  );
}

/** The agenda of a minute, a row for each expression: a busy minute has a thousand runs of a few. */
export const minuteSearch = (at: number, prefix: string | undefined) => ({
  from: new Date(at).toISOString(),
  to: new Date(at + minuteMs).toISOString(),
  prefix,
  rows: "expressions" as const,
});
