/**
 * `page`: users notice it now, or will within the hour, and no part of Carillon mends it by itself.
 * `ticket`: it can wait until the next working day.
 */
export type Severity = "page" | "ticket";

/** The severity of the alarms of each article of the runbook, by the anchor of its heading. */
const severities: Readonly<Record<string, Severity>> = {
  "tick-missing": "page",
  // One tick a minute is enough, and the alarm on a missing one pages.
  "tick-failing": "ticket",
  "tick-behind": "page",
  "canary-missing": "page",
  "jobs-overdue": "page",
  "jobs-dead": "ticket",
  "jobs-owed": "ticket",
  "rows-set-aside": "ticket",
  "pulses-lost": "page",
  "jobs-late": "page",
  "parcels-set-aside": "ticket",
  "messages-in-flight": "page",
  "functions-throttled": "page",
  "ingest-dead-letters-not-empty": "ticket",
  "ingest-late": "page",
  "api-failing": "page",
  // Where it makes jobs late, their alarm pages.
  "database-cpu-high": "ticket",
  "database-cpu-credits-charged": "ticket",
  "database-connections-high": "page",
  "database-storage-low": "page",
  // Without memory Postgres restarts.
  "database-memory-low": "page",
  "database-swap-high": "ticket",
  "database-connections-pinned": "ticket",
  "database-capacity-high": "ticket",
  "database-transaction-ids-high": "ticket",
  "database-transaction-open": "ticket",
  "database-locks-held": "page",
  // Schedules run in neither installation until the command runs again.
  "move-unfinished": "page",
  "archive-behind": "ticket",
};

export function severityOf(anchor: string): Severity {
  const severity = severities[anchor];
  if (severity === undefined)
    throw new Error(`infra/watch/severity.ts: the article "${anchor}" of the runbook has no severity.`);
  return severity;
}
