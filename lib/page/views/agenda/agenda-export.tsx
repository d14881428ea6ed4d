import type { AgendaFilter, AgendaItem } from "../../../client/agenda.ts";
import type { ExportList } from "../../data/export/export-rows.ts";
import { listCommands } from "../../data/export/list-commands.ts";
import { useSession } from "../../hooks/session-context.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { ExportButton } from "../../parts/export-dialog.tsx";

const pageLength = 100;

const columns: ExportList<AgendaItem>["columns"] = [
  "occurrence",
  "wall",
  "key",
  "outcome",
  "reason",
  "dueAt",
  "latenessMs",
  "durationMs",
  "kind",
  "job",
  "passedOver",
  "note",
  "heldBy",
];

/** Wall times are those of the screen's zone. */
export function AgendaExport({ window }: { window: AgendaFilter }) {
  const { carillon } = useSession();
  const timezone = useZone();
  return (
    <ExportButton<AgendaItem>
      list={{
        name: "occurrences",
        filter: window,
        columns,
        page: (cursor, signal) =>
          carillon.agenda({ ...window, timezone, limit: pageLength, signal }).page(cursor),
      }}
      commands={listCommands({
        command: "agenda",
        words: [`${instantText(window.from)}..${instantText(window.to)}`],
        path: "/v1/occurrences",
        filter: { ...window, timezone },
        asWords: ["from", "to"],
      })}
    />
  );
}

const instantText = (instant: AgendaFilter["from"]) => new Date(instant).toISOString();
