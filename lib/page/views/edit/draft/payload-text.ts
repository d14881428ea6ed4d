import { textAt } from "../../../data/document/json-text.ts";

/** A payload as it was typed, and the written payload that it stands for. */
export interface TypedPayload {
  over: string;
  text: string;
}

/**
 * The payload as the editor shows it: as it was typed while the document has the payload that it was
 * typed over, else as the document has it.
 */
export function shownPayload(
  text: string,
  typed: TypedPayload | null,
): { written: string; shown: string; isJson: boolean } {
  const written = writtenPayload(text);
  const shown = typed?.over === written ? typed.text : written;
  return { written, shown, isJson: shown.trim() === "" || parses(shown) };
}

export const writtenPayload = (text: string): string => outdented(textAt(text, ["payload"]) ?? "");

/** The payload is a member of the document, so its lines are indented there. No JSON string has a line break. */
export const indented = (text: string): string => text.replaceAll("\n", "\n  ");

function outdented(text: string): string {
  const [, last = ""] = /\n([^\S\n]*)[^\n]*$/.exec(text) ?? [];
  return text.replaceAll(`\n${last}`, "\n");
}

export function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
