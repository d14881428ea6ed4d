/** A line of prose: a comment, the title of a test, or a line of a page. */
export interface Prose {
  line: number;
  text: string;
}

const comment = /(?:^|\s)(?:\/\/|\/\*\*?|--)\s(.*)|^\s*\*\s(.*)/;
const title = /\b(?:test|describe|it)(?:\.\w+)*\(\s*["`](.*)/;
const marks = /^[\s*#|>-]+/;

/** The prose of a file, line by line. Code between fences of a page is left out. */
export function proseOf(file: string, text: string): Prose[] {
  const isPage = file.endsWith(".md");
  let isFenced = false;
  return text.split("\n").flatMap((line, index): Prose[] => {
    if (isPage && line.startsWith("```")) isFenced = !isFenced;
    const found = isPage ? (isFenced ? null : line) : proseIn(line);
    const words = found?.replace(marks, "") ?? "";
    return words === "" ? [] : [{ line: index + 1, text: words }];
  });
}

function proseIn(line: string): string | null {
  const [, afterMark, inBlock] = comment.exec(line) ?? [];
  return afterMark ?? inBlock ?? title.exec(line)?.[1] ?? null;
}
