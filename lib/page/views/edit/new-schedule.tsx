import { useSearch } from "@tanstack/react-router";
import { newDocument } from "../../data/document/schedule-document.ts";
import { useZone } from "../../hooks/use-zone.ts";
import { Editor } from "./editor.tsx";

export function NewSchedule() {
  const { key } = useSearch({ from: "/new" });
  const timezone = useZone();
  return (
    <>
      <header className="schedule-head">
        <h1>New schedule</h1>
      </header>
      <Editor stored={undefined} begin={newDocument({ key, timezone })} refetch={() => {}} />
    </>
  );
}
