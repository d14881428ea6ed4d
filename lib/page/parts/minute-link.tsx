import { Link } from "@tanstack/react-router";
import { Instant } from "./instant.tsx";

const minuteMs = 60_000;

/** A minute of the plan, as a link to all that occurs in it. */
export function MinuteLink({ at, prefix }: { at: string; prefix?: string | undefined }) {
  const to = new Date(Date.parse(at) + minuteMs).toISOString();
  return (
    <Link className="instant" to="/agenda" search={{ from: at, to, prefix }}>
      <Instant at={at} />
    </Link>
  );
}
