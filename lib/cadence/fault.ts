/**
 * Why a `when` was not accepted: `position` is the 0-based index of the character at fault in the text as given.
 * `unsupported` is a form that Carillon knows but does not offer yet, `past` an instant that is over.
 */
export interface WhenFault {
  ok: false;
  kind: "invalid" | "unsupported" | "past";
  message: string;
  position: number;
  /** Which entry of a list. */
  index?: number;
}

export function invalid(position: number, message: string): WhenFault {
  return { ok: false, kind: "invalid", message, position };
}

export function unsupported(position: number, message: string): WhenFault {
  return { ok: false, kind: "unsupported", message, position };
}

/** The caller's own words inside a message, cut short so that the message stays a sentence. */
export function quoted(text: string): string {
  return text.length <= 24 ? `"${text}"` : `"${text.slice(0, 24)}…"`;
}
