import type { Job } from "../../../client/job.ts";
import { logsLinkElement, logsLinkOf } from "../../../config/logs-link.ts";
import { settingIn } from "../setting-in.ts";
import { instantsOf, type Line } from "./attempt-lines.ts";

/** Lines of the log may be written a little before and after the instants that the database has. */
const marginMs = 60_000;

/** The address of the log lines of these attempts; null where the deployment links no logs. */
export function logsHref(job: Job, lines: readonly Line[], now: number): string | null {
  const template = settingIn(logsLinkElement);
  if (template === null) return null;
  const instants = lines.flatMap(instantsOf);
  const from = instants.length === 0 ? Date.parse(job.dueAt) : Math.min(...instants);
  const to = lines.some(({ isOpen }) => isOpen) ? Math.max(now, from) : Math.max(from, ...instants);
  return logsLinkOf(template, {
    jobId: job.id,
    key: job.key,
    from: new Date(from - marginMs),
    to: new Date(to + marginMs),
  });
}
