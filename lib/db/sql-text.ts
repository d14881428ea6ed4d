/** A comment, a text, a quoted name, or a body between dollars; whichever begins first hides the others. */
export const hiddenSql = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;

export interface SqlPiece {
  /** White space and comments. */
  before: string;
  text: string;
  /** Where `text` begins in the whole. */
  at: number;
}

/** The statements of a text of SQL, without the semicolons between them. */
export function sqlPieces(whole: string): SqlPiece[] {
  // Semicolons that end nothing are hidden, and no character changes its place.
  const outline = whole.replace(hiddenSql, (part) => part.replace(/[^\n]/g, isComment(part) ? " " : "x"));
  const pieces: SqlPiece[] = [];
  let start = 0;
  for (const piece of outline.split(";")) {
    const at = start + piece.length - piece.trimStart().length;
    const end = start + piece.length;
    if (at < end) pieces.push({ before: whole.slice(start, at), text: whole.slice(at, end), at });
    start = end + 1;
  }
  return pieces;
}

function isComment(part: string): boolean {
  return part.startsWith("--") || part.startsWith("/*");
}

const SHOWN_MAX = 80;

/** How a statement begins, for a person: without the values in it, which are nobody's business in a log. */
export function shownSql(text: string): string {
  const shown = text
    .replace(/--[^\n]*|\/\*[\s\S]*?(\*\/|$)/g, " ")
    .replace(/'(?:[^']|'')*('|$)/g, "'…'")
    .replace(/(\$\w*\$)[\s\S]*?(\1|$)/g, "'…'")
    .replace(/(?<![\w$])\d[\w.]*/g, "…")
    .replace(/\s+/g, " ")
    .trim();
  return shown.length > SHOWN_MAX ? `${shown.slice(0, SHOWN_MAX)}…` : shown;
}
