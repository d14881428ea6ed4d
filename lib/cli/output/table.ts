import { type Colour, type Paint, printable } from "./style.ts";

export interface Column<Row> {
  title: string;
  text(row: Row): string;
  colour?(row: Row): Colour | undefined;
  align?: "left" | "right";
  /** The column keeps its full width while others shrink. */
  whole?: boolean;
  /** The column shrinks no further than this many characters. */
  narrowest?: number;
}

/**
 * For a column of times: the whole time stays, with the sign of what was cut, so that it can be
 * copied.
 */
export const wholeTime = 20;

const gap = "  ";
const narrowestByDefault = 8;

/** Aligned columns, cut to `width` where the terminal has one. */
export function tableLines<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { width, paint }: { width: number | undefined; paint: Paint },
): string[] {
  const cells = rows.map((row) => columns.map((column) => printable(column.text(row))));
  const natural = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map((line) => widthOf(line[index] ?? ""))),
  );
  const widths = fitted(natural, columns, width);
  const line = (texts: readonly string[], colourOf: (index: number) => Colour | undefined) =>
    columns
      .map(({ align = "left" }, index) => {
        const cell = cut(texts[index] ?? "", widths[index] ?? 0);
        const blanks = " ".repeat(Math.max(0, (widths[index] ?? 0) - widthOf(cell)));
        const painted = paint(cell, colourOf(index));
        return align === "right" ? blanks + painted : painted + blanks;
      })
      .join(gap)
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  return [
    line(titles, () => "dim"),
    ...rows.map((row, at) => line(cells[at] ?? [], (index) => columns[index]?.colour?.(row))),
  ];
}

/**
 * The widest column that may shrink loses a character, until all fit or none can shrink further.
 */
function fitted<Row>(
  natural: number[],
  columns: readonly Column<Row>[],
  width: number | undefined,
): number[] {
  if (width === undefined) return natural;
  const widths = [...natural];
  let over = widths.reduce((sum, each) => sum + each, gap.length * (widths.length - 1)) - width;
  for (; over > 0; over--) {
    let widest = -1;
    for (const [index, each] of widths.entries()) {
      const column = columns[index];
      if (column?.whole === true || each <= (column?.narrowest ?? narrowestByDefault)) continue;
      if (widest === -1 || each > (widths[widest] ?? 0)) widest = index;
    }
    if (widest === -1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 0;
  for (const character of text) {
    used += widthOf(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Columns on a terminal: combining marks take none, East Asian characters and emoji two. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/[\p{Mn}\p{Me}\p{Cf}]/u.test(character)) continue;
    width += wide.test(character) ? 2 : 1;
  }
  return width;
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Numbers with groups of three digits: `1,646`. */
export const grouped = new Intl.NumberFormat("en-GB");

/** Such as `1 job` or `1,646 jobs`. */
export function counted(count: number, noun: string): string {
  return `${grouped.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}
