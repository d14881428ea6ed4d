import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { calendarsQuery } from "../../data/calendar-queries.ts";
import { useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";

/** The way to a new calendar. The tab keeps the edit meanwhile, so nothing is asked before it is left. */
export function NewCalendar() {
  const { carillon } = useSession();
  const calendars = useQuery(calendarsQuery(carillon));
  const mayMake = useMay("putCalendar");
  const hasNone = calendars.data?.items.length === 0;
  if (!hasNone && !mayMake) return null;
  return (
    <p className="hint">
      {hasNone ? "There is no calendar yet. " : null}
      {mayMake ? (
        <>
          <Link to="/calendars" ignoreBlocker className="link">
            New calendar
          </Link>{" "}
          (this edit is kept in this tab)
        </>
      ) : null}
    </p>
  );
}
