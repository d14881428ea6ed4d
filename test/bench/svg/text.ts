import { element, words } from "./element.ts";

export interface TextPlace {
  x: number;
  y: number;
  size: number;
  /** `ink` by default; `faint` for secondary text. */
  tone?: "ink" | "faint";
  anchor?: "start" | "middle" | "end";
  bold?: boolean;
}

export function text(
  content: string,
  { x, y, size, tone = "ink", anchor = "start", bold }: TextPlace,
): string {
  return element(
    "text",
    {
      x,
      y,
      class: tone,
      "font-size": size,
      "text-anchor": anchor === "start" ? undefined : anchor,
      "font-weight": bold === true ? 600 : undefined,
    },
    words(content),
  );
}

/**
 * In parts of the font's size, for a wide sans serif: readers have other fonts, and labels must not
 * overlap with those either.
 */
const wide = { narrow: 0.34, capital: 0.76, widest: 0.96, other: 0.61 } as const;

/** The approximate width of a line of text; rather too wide than too narrow. */
export function textWidth(content: string, size: number): number {
  let ems = 0;
  for (const sign of content) {
    if (/[ilj.,:;'|!()[\] ]/.test(sign)) ems += wide.narrow;
    else if (/[mwMW%]/.test(sign)) ems += wide.widest;
    else if (/[A-Z]/.test(sign)) ems += wide.capital;
    else ems += wide.other;
  }
  return ems * size;
}

export function widest(contents: readonly string[], size: number): number {
  return Math.max(0, ...contents.map((content) => textWidth(content, size)));
}

/** Breaks at blanks, so that each line is at most this wide. */
export function lines(content: string, size: number, width: number): string[] {
  const broken: string[] = [];
  for (const word of content.split(" ")) {
    const last = broken.at(-1);
    if (last !== undefined && textWidth(`${last} ${word}`, size) <= width)
      broken[broken.length - 1] = `${last} ${word}`;
    else broken.push(word);
  }
  return broken;
}
