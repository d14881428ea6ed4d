import { useSearch } from "@tanstack/react-router";
import { readLoadSearch } from "./load-search.ts";
import { MinutesLoad } from "./minutes-load.tsx";
import { WeekLoad } from "./week-load.tsx";
import "../../look/load.css";
import "../../look/heat.css";

/** When it will be busy, of which schedules, and by how much a spread flattens it. */
export function Load() {
  const search = readLoadSearch(useSearch({ from: "/load" }));
  return search.view === "week" ? <WeekLoad search={search} /> : <MinutesLoad search={search} />;
}
