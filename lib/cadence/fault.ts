/**
 * Why a `when` was not accepted: `position` is the 0-based index of the character at fault in the text as given.
 * `past` says that it is understood, but over.
 */
export interface WhenFault {
  ok: false;
  kind: "invalid" | "past";
  message: string;
  position: number;
  /** Which entry of a list. */
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
