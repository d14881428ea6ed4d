import type { JobFilter, JobSummary } from "../../../client/job.ts";
import type { ExportList } from "../../data/export/export-rows.ts";
import { listCommands } from "../../data/export/list-commands.ts";
import { useSession } from "../../hooks/session-context.ts";
import { ExportButton } from "../../parts/export-dialog.tsx";

const pageLength = 100;

const columns: ExportList<JobSummary>["columns"] = [
  "id",
  "key",
  "state",
  "reason",
  "occurrence",
  "dueAt",
  "startedAt",
  "finishedAt",
  "latenessMs",
  "durationMs",
  "attempt",
  "kind",
  "group",
  "error",
  "errorGroup",
];

export function JobExport({ filter }: { filter: JobFilter }) {
  const { carillon } = useSession();
  return (
    <ExportButton<JobSummary>
      list={{
        name: "jobs",
        filter,
        columns,
        page: (cursor, signal) => carillon.jobs.list({ ...filter, limit: pageLength, signal }).page(cursor),
      }}
      commands={listCommands({ command: "jobs", path: "/v1/jobs", filter })}
    />
  );
}
