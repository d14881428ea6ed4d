import { useMemo, useState } from "react";
import type { Schedule } from "../../../client/schedule.ts";
import { type JsonObject, type ReadText, readObject } from "../../data/document/json-text.ts";
import { sameJson } from "../../data/document/same-json.ts";
import { documentOf } from "../../data/document/schedule-document.ts";

export interface EditedText {
  text: string;
  read: ReadText;
  /** The reading of the text; while it is no JSON, that of the last text that was. */
  value: JsonObject;
  /** The version that the edit began with, and what it held. */
  version: number | null;
  began: JsonObject;
  isDirty: boolean;
  setText(text: string): void;
  /** Goes on from another stored version, with the text as it is or with that version's. */
  rebase(stored: Schedule, text: "keep" | "take"): void;
}

/** The text of an editor, and the stored version that it began with. */
export function useText(begin: string, version: number | null): EditedText {
  const [base, setBase] = useState({ version, text: begin });
  const [text, setText] = useState(begin);
  const read = useMemo(() => readObject(text), [text]);
  const began = useMemo(() => readOrEmpty(base.text), [base.text]);
  const [lastRead, setLastRead] = useState(began);
  if (read.ok && lastRead !== read.value) setLastRead(read.value);
  const value = read.ok ? read.value : lastRead;
  return {
    text,
    read,
    value,
    version: base.version,
    began,
    isDirty: !read.ok || !sameJson(value, began),
    setText,
    rebase: (stored, kept) => {
      const document = documentOf(stored);
      setBase({ version: stored.version, text: document });
      if (kept === "take") setText(document);
    },
  };
}

export function readOrEmpty(text: string): JsonObject {
  const read = readObject(text);
  return read.ok ? read.value : {};
}
