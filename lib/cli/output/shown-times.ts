import type { NextOccurrences, Preview } from "../../client/main.ts";
import type { Output } from "./output.ts";
import { printable } from "./style.ts";
import type { Column } from "./table.ts";

/**
 * Coming occurrences: in the schedule's zone, in UTC, in the zone of shown times, relative to now,
 * and with the notes that move them.
 */
export function showOccurrences(
  out: Output,
  times: Preview | NextOccurrences,
  { alsoShown = false }: { alsoShown?: boolean } = {},
): void {
  const { timezone } = times;
  const details: readonly Shown[] = times.details;
  const due: Column<Shown> = {
    title: "DUE (UTC)",
    text: (each) => each.due?.replace("T", " ") ?? "",
    whole: true,
  };
  const { zone } = out.times;
  const shown: Column<Shown> = { title: zone, text: ({ at }) => out.times.wall(at), whole: true };
  const utc: Column<Shown> = {
    title: "UTC",
    text: ({ at }) => at.replace("T", " ").replace(/\.000Z$/, "Z"),
    whole: true,
  };
  const note: Column<Shown> = { title: "NOTE", text: noteOf };
  out.table(
    [
      { title: timezone, text: ({ wall }) => wall.replace("T", " "), whole: true },
      ...(alsoShown && zone !== timezone && zone !== "UTC" ? [shown] : []),
      ...(timezone === "UTC" ? [] : [utc]),
      { title: "", text: ({ at }) => out.times.relative(at), whole: true },
      ...(details.some((each) => each.due !== undefined) ? [due] : []),
      ...(details.some((each) => noteOf(each) !== "") ? [note] : []),
    ],
    details,
    "It does not run any more.",
  );
  if (!out.isJson && "warnings" in times)
    for (const warning of times.warnings) out.note(out.paint(printable(warning), "yellow"));
}

type Shown = NextOccurrences["details"][number];

function noteOf({ note, held }: Shown): string {
  return [held === true ? "held" : "", note ?? ""].join(" ").trim();
}
