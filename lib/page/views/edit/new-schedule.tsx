import { useSearch } from "@tanstack/react-router";
import { newDocument } from "../../data/document/schedule-document.ts";
import { Editor } from "./editor.tsx";

export function NewSchedule() {
  const { key } = useSearch({ from: "/new" });
  return (
    <>
      <header className="schedule-head">
        <h1>New schedule</h1>
      </header>
      <Editor stored={undefined} begin={newDocument(key)} refetch={() => {}} />
    </>
  );
}
