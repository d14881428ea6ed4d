export interface MigrationStatement {
  /** Lowercase, without comments, texts and bodies of functions; white space is one blank. */
  words: string;
  /** What `-- safe: …` before it or in it says. */
  reason: string | undefined;
  line: number;
}

// A comment, a text, a quoted name, or a body between dollars; whichever begins first hides the others.
const hidden = /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|(\$\w*\$)[\s\S]*?\1/g;
const reasonGiven = /--[ \t]*safe:[ \t]*(\S[^\n]*)/;

/**
 * The statements of a migration, as far as a check needs them. What runs at once, the body of a `do`, is a statement's own words; what is kept
 * for later, the body of a function, is not.
 */
export function statementsOf(text: string): MigrationStatement[] {
  // Semicolons that end nothing are hidden, and no character changes its place.
  const outline = text.replace(hidden, (part) => part.replace(/[^\n]/g, " "));
  const statements: MigrationStatement[] = [];
  let start = 0;
  for (const piece of outline.split(";")) {
    const source = text.slice(start, start + piece.length);
    const leading = piece.length - piece.trimStart().length;
    if (piece.trim() !== "") {
      statements.push({
        words: wordsOf(source),
        reason: reasonGiven.exec(source)?.[1]?.trim(),
        line: text.slice(0, start + leading).split("\n").length,
      });
    }
    start += piece.length + 1;
  }
  return statements;
}

function wordsOf(source: string): string {
  const runsAtOnce = /^\s*do\b/i.test(source.replace(/--[^\n]*/g, ""));
  const words = source.replace(hidden, (part, dollar: string | undefined) => {
    if (part.startsWith('"')) return part;
    if (dollar === undefined) return " ";
    return runsAtOnce ? wordsOf(part.slice(dollar.length, -dollar.length)) : " ";
  });
  return words.toLowerCase().replace(/\s+/g, " ").trim();
}
