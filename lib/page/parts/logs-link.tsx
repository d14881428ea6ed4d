import type { Job } from "../../client/job.ts";
import type { Line } from "../data/job/attempt-lines.ts";
import { logsHref } from "../data/job/logs-link.ts";
import { useNow } from "../hooks/use-now.ts";

/** A link to the log of these attempts, where the deployment has one. */
export function LogsLink({ job, lines }: { job: Job; lines: readonly Line[] }) {
  const href = logsHref(job, lines, useNow());
  if (href === null) return null;
  return (
    <a className="link" href={href} target="_blank" rel="noopener noreferrer">
      Logs<span aria-hidden="true"> ↗</span>
      <span className="hidden">, in a new tab</span>
    </a>
  );
}
