import type { AuditEntry, AuditFilter } from "../../../client/audit.ts";
import type { ExportList } from "../../data/export/export-rows.ts";
import { listCommands } from "../../data/export/list-commands.ts";
import { useSession } from "../../hooks/session-context.ts";
import { ExportButton } from "../../parts/export-dialog.tsx";

const pageLength = 100;

const columns: ExportList<AuditEntry>["columns"] = [
  "at",
  "actor",
  "action",
  "subject",
  "version",
  "changes",
  "detail",
  "origin",
  "id",
];

export function AuditExport({ filter }: { filter: AuditFilter }) {
  const { carillon } = useSession();
  return (
    <ExportButton<AuditEntry>
      list={{
        name: "changes",
        filter,
        columns,
        page: (cursor, signal) => carillon.audit({ ...filter, limit: pageLength, signal }).page(cursor),
      }}
      commands={listCommands({ command: "audit", path: "/v1/audit", filter })}
    />
  );
}
