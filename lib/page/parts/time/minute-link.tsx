import { Link } from "@tanstack/react-router";
import { Instant } from "./instant.tsx";

const minuteMs = 60_000;

/** A minute of the plan, as a link to all that occurs in it. */
export function MinuteLink({ at }: { at: string }) {
  const to = new Date(Date.parse(at) + minuteMs).toISOString();
  return (
    <Link className="instant" to="/agenda" search={{ from: at, to }}>
      <Instant at={at} />
    </Link>
  );
}
