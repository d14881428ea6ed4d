import { Link } from "@tanstack/react-router";
import { useMay } from "../data/token-query.ts";

/** Leads to the form, for a token that may make schedules. */
export function NewScheduleLink() {
  if (!useMay("createSchedule")) return null;
  return (
    <Link to="/new" className="button">
      New schedule
    </Link>
  );
}
