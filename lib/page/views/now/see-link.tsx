import { Link, type LinkProps } from "@tanstack/react-router";
import type { Problem } from "../../../client/stats.ts";
import { readHoldSearch } from "../holds/hold-search.ts";
import { readJobSearch } from "../jobs/job-search.ts";

interface SeeLinkProps {
  see: Problem["see"];
  /** The problem, which tells apart links with the same text. */
  about: string;
}

/** The views of requests that a problem has without a filter. */
const unfiltered: Readonly<Record<string, LinkProps>> = {
  "/v1/outages": { to: "/outages" },
  "/v1/commands/dead": { to: "/refused" },
  "/v1/inbox/errors": { to: "/refused", search: { of: "inbox" } },
  "/v1/quarantine": { to: "/quarantine" },
};

/** The view that lists what a problem has counted. Stats and series have none. */
export function SeeLink({ see: { path, query }, about }: SeeLinkProps) {
  const text = (
    <>
      Show<span className="hidden">: {about}</span>
    </>
  );
  // The view of dead jobs has their groups above its list.
  if (path === "/v1/jobs" || path === "/v1/jobs:groups")
    return (
      <Link to="/jobs" search={readJobSearch(query)} className="button">
        {text}
      </Link>
    );
  if (path === "/v1/holds")
    return (
      <Link to="/holds" search={readHoldSearch(query)} className="button">
        {text}
      </Link>
    );
  const to = unfiltered[path];
  return to === undefined ? null : (
    <Link {...to} className="button">
      {text}
    </Link>
  );
}
