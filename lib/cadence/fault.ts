/**
 * Why a `when` was not accepted. `position` is the 0-based index of the wrong character in the text
 * as given. `past` means that the text is understood, but its time is past.
 */
export interface WhenFault {
  ok: false;
  kind: "invalid" | "past";
  message: string;
  position: number;
  /** The index of the entry in a list. */
  index?: number;
}

export function invalid(position: number, message: string): WhenFault {
  return { ok: false, kind: "invalid", message, position };
}

export function tooFar(position: number): WhenFault {
  return invalid(position, "This is more than 100 years ahead.");
}

/** The caller's own words inside a message, cut short so that the message stays a sentence. */
export function quoted(text: string): string {
  return text.length <= 24 ? `"${text}"` : `"${text.slice(0, 24)}…"`;
}
