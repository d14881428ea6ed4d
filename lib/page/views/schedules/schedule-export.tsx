import type { ScheduleFilter, ScheduleSummary } from "../../../client/schedule.ts";
import type { ExportList } from "../../data/export/export-rows.ts";
import { listCommands } from "../../data/export/list-commands.ts";
import { useSession } from "../../hooks/session-context.ts";
import { ExportButton } from "../../parts/export-dialog.tsx";

const pageLength = 100;

const columns: ExportList<ScheduleSummary>["columns"] = [
  "key",
  "state",
  "when",
  "timezone",
  "nextAt",
  "target",
  "group",
  "tags",
  "priority",
  "calendar",
  "spread",
  "holds",
  "version",
  "createdAt",
  "createdBy",
  "updatedAt",
  "updatedBy",
  "description",
];

export function ScheduleExport({ filter }: { filter: ScheduleFilter }) {
  const { carillon } = useSession();
  return (
    <ExportButton<ScheduleSummary>
      list={{
        name: "schedules",
        filter,
        columns,
        page: (cursor, signal) =>
          carillon.schedules.list({ ...filter, limit: pageLength, signal }).page(cursor),
      }}
      commands={listCommands({ command: "ls", path: "/v1/schedules", filter })}
    />
  );
}
