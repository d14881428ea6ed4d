import { useEffect, useMemo, useState } from "react";
import type { Schedule } from "../../../client/schedule.ts";
import { type JsonObject, type ReadText, readObject } from "../../data/document/json-text.ts";
import { sameJson } from "../../data/document/same-json.ts";
import { documentOf } from "../../data/document/schedule-document.ts";
import { forgetDraft, type KeptDraft, keepDraft, keptDraft } from "./draft/kept-draft.ts";
import { shownPayload, type TypedPayload } from "./draft/payload-text.ts";

export interface EditedText {
  text: string;
  read: ReadText;
  /** The reading of the text; while it is no JSON, that of the last text that was. */
  value: JsonObject;
  /** The version that the edit began with, and what it held. */
  version: number | null;
  began: JsonObject;
  isDirty: boolean;
  payload: TypedPayload | null;
  isPayloadJson: boolean;
  /** It is an edit that a reload of the tab had interrupted. */
  isRestored: boolean;
  setText(text: string): void;
  typePayload(payload: TypedPayload): void;
  /** Goes back to the text that it began with. */
  startOver(): void;
  /** Goes on from another stored version, with the text as it is or with that version's. */
  rebase(stored: Schedule, text: "keep" | "take"): void;
}

/** The beginning of an edit: the stored version, or for a new schedule a text. */
export interface Beginning {
  key: string | null;
  version: number | null;
  text: string;
}

/**
 * The text of an editor, and the stored version that it began with. While it differs from that
 * version, the tab keeps it over a reload.
 */
export function useText(beginning: Beginning): EditedText {
  const [kept] = useState(() => restorable(beginning));
  const [base, setBase] = useState(kept === null ? beginning : { version: kept.version, text: kept.base });
  const [text, setText] = useState(kept?.text ?? beginning.text);
  const [payload, setPayload] = useState(kept?.payload ?? null);
  const read = useMemo(() => readObject(text), [text]);
  const isPayloadJson = useMemo(() => shownPayload(text, payload).isJson, [text, payload]);
  const began = useMemo(() => readOrEmpty(base.text), [base.text]);
  const [lastRead, setLastRead] = useState(began);
  if (read.ok && lastRead !== read.value) setLastRead(read.value);
  const value = read.ok ? read.value : lastRead;
  const isDirty = !read.ok || !isPayloadJson || !sameJson(value, began);
  const { key } = beginning;
  useEffect(() => {
    const unwritten = isPayloadJson ? null : payload;
    if (isDirty) keepDraft({ of: key, version: base.version, base: base.text, text, payload: unwritten });
    else forgetDraft(key);
  }, [isDirty, key, base, text, payload, isPayloadJson]);
  const take = (taken: string) => {
    setText(taken);
    setPayload(null);
  };
  return {
    text,
    read,
    value,
    version: base.version,
    began,
    isDirty,
    payload,
    isPayloadJson,
    isRestored: kept !== null,
    setText,
    typePayload: setPayload,
    startOver: () => take(base.text),
    rebase: (stored, kept) => {
      const document = documentOf(stored);
      setBase({ version: stored.version, text: document });
      if (kept === "take") take(document);
    },
  };
}

/** A new schedule that begins with another key is another edit; one that begins in another zone is not. */
function restorable({ key, text }: Beginning): KeptDraft | null {
  const kept = keptDraft(key);
  if (kept === null || key !== null) return kept;
  return readOrEmpty(kept.base)["key"] === readOrEmpty(text)["key"] ? kept : null;
}

export function readOrEmpty(text: string): JsonObject {
  const read = readObject(text);
  return read.ok ? read.value : {};
}
