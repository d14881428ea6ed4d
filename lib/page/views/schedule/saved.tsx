import { useSavedNote } from "../../hooks/saved-note.ts";

/** Says once that the schedule was just saved. The line is there before its text, so that it is read out. */
export function Saved({ name }: { name: string }) {
  const note = useSavedNote(name);
  return (
    <p role="status" className={note === null ? undefined : "notice good"}>
      {note}
    </p>
  );
}
