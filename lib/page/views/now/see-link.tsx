import { Link } from "@tanstack/react-router";
import type { Problem } from "../../../client/stats.ts";
import { readHoldSearch } from "../holds/hold-search.ts";
import { readJobSearch } from "../jobs/job-search.ts";

interface SeeLinkProps {
  see: Problem["see"];
  /** The problem, which tells apart links with the same text. */
  about: string;
}

/** The view that lists what a problem has counted. */
export function SeeLink({ see: { path, query }, about }: SeeLinkProps) {
  const text = (
    <>
      Show<span className="hidden">: {about}</span>
    </>
  );
  if (path === "/v1/jobs")
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
  return null;
}
