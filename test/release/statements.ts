import { hiddenSql, sqlPieces } from "../../lib/db/sql-text.ts";

export interface MigrationStatement {
  /** Lowercase, without comments, texts and bodies of functions; white space is one blank. */
  words: string;
  /** The reason from a comment `-- safe: …` before or in the statement. */
  reason: string | undefined;
  line: number;
}

const reasonGiven = /--[ \t]*safe:[ \t]*(\S[^\n]*)/;

/**
 * The statements of a migration, as far as a check needs them. The body of a `do` runs at once, so
 * it is included; the body of a function runs later, so it is not.
 */
export function statementsOf(whole: string): MigrationStatement[] {
  return sqlPieces(whole).map(({ before, text, at }) => ({
    words: wordsOf(text),
    reason: reasonGiven.exec(before + text)?.[1]?.trim(),
    line: whole.slice(0, at).split("\n").length,
  }));
}

function wordsOf(source: string): string {
  const runsAtOnce = /^\s*do\b/i.test(source.replace(/--[^\n]*/g, ""));
  const words = source.replace(hiddenSql, (part, dollar: string | undefined) => {
    if (part.startsWith('"')) return part;
    if (dollar === undefined) return " ";
    return runsAtOnce ? wordsOf(part.slice(dollar.length, -dollar.length)) : " ";
  });
  return words.toLowerCase().replace(/\s+/g, " ").trim();
}
