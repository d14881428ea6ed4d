/** Two letters are no clue: `on` is not a mistyped `in`. */
const LENGTH_MIN = 3;
/** Longer words are not compared: the work must stay small for any text. */
const LENGTH_MAX = 24;

/**
 * The probable word, for a hint: one that differs by one typing mistake, or by two in long words.
 */
export function nearestWord(written: string, known: readonly string[]): string | null {
  if (written.length < LENGTH_MIN || written.length > LENGTH_MAX) return null;
  const lower = written.toLowerCase();
  let nearest: string | null = null;
  let fewest = written.length < 5 ? 2 : 3;
  for (const word of known) {
    const slips = slipsBetween(lower, word);
    if (slips < fewest) {
      fewest = slips;
      nearest = word;
    }
  }
  return nearest;
}

/**
 * The number of letters to insert, remove, change or swap with a neighbour to turn one word into
 * the other.
 */
function slipsBetween(a: string, b: string): number {
  let twoAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      line.push(
        Math.min(
          (above[column] ?? 0) + 1,
          (line[column - 1] ?? 0) + 1,
          (above[column - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (twoAbove[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    twoAbove = above;
    above = line;
  }
  return above[b.length] ?? 0;
}
