import { useEffect, useState } from "react";

interface SavedNote {
  key: string;
  text: string;
}

let left: SavedNote | null = null;

/** Leaves a sentence for the view that follows a save. It is not in the address, so a reload forgets it. */
export function leaveSavedNote(note: SavedNote): void {
  left = note;
}

/** The sentence that was left for this schedule, for as long as its view stays. */
export function useSavedNote(key: string): string | null {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    if (left?.key === key) setText(left.text);
    left = null;
  }, [key]);
  return text;
}
