import type { NextOccurrences, Preview } from "../client/main.ts";
import type { Output } from "./output.ts";
import { printable } from "./style.ts";
import type { Column } from "./table.ts";

/** Coming occurrences: on the clocks of the schedule's zone, how far off, and what moves them. */
export function showOccurrences(out: Output, times: Preview | NextOccurrences): void {
  const { timezone } = times;
  const details: readonly Shown[] = times.details;
  const due: Column<Shown> = {
    title: "DUE (UTC)",
    text: (each) => each.due?.replace("T", " ") ?? "",
    whole: true,
  };
  const note: Column<Shown> = { title: "NOTE", text: noteOf };
  out.table(
    [
      { title: timezone, text: ({ wall }) => wall.replace("T", " "), whole: true },
      { title: "UTC", text: ({ at }) => at.replace("T", " ").replace(/\.000Z$/, "Z"), whole: true },
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
