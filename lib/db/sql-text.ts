/**
 * A comment, a text, a quoted name, or a dollar-quoted body. Where one contains the beginning of
 * another, as in `'--'`, only the outer one counts.
 */
export const hiddenSql = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;

export interface SqlPiece {
  /** White space and comments. */
  before: string;
  text: string;
  /** The offset of `text` in the whole text. */
  at: number;
}

/** The statements of an SQL text, without the semicolons between them. */
export function sqlPieces(whole: string): SqlPiece[] {
  // Semicolons that end no statement are hidden, and every character keeps its offset.
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

/**
 * The beginning of a statement for a person to read, without its values: values do not belong in a
 * log.
 */
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
