import { element, words } from "./element.ts";
import { lines, text, textWidth } from "./text.ts";

/**
 * Pictures of the benches, written by hand as SVG: without a package, a script or a download, and
 * the same figures give the same text.
 *
 * - `bars(…)` in bars.ts: groups of bars, Carillon's in colour and others grey, with the range of
 *   their runs.
 * - `timeSeries(…)` in time-series.ts: panels of lines over the same time.
 * - `distribution(…)` in distribution.ts: the share in each bucket and the share that is worse,
 *   over an axis of powers of ten.
 * - `writePicture(name, svg)` in write-picture.ts: writes into docs/benchmarks/, and returns the
 *   Markdown that shows the picture.
 *
 * Each has a `title` (shown above the picture and read by screen readers) and a `desc` (a sentence
 * on the content, for readers who cannot see it).
 */
export interface Caption {
  title: string;
  desc: string;
}

export const pictureWidth = 880;
export const margin = 24;
export const sizes = { title: 17, label: 13, small: 12 } as const;

/**
 * The number of colours that readers can distinguish. Each has its own dash as well, for
 * colour-blind readers and for print.
 */
export const colours = 6;
const light = ["#1f6feb", "#c2570c", "#1a7f37", "#8250df", "#bf3989", "#5f6b7a"];
const dark = ["#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#f778ba", "#9aa7b4"];
const dashes = ["none", "6 3", "2 2", "9 3 2 3", "4 2", "1 3"];

/**
 * The picture has its own background: a page may be dark while the reader's system is light, and
 * the other way round.
 */
function style(): string {
  const tones = (
    paper: string,
    ink: string,
    faint: string,
    grid: string,
    other: string,
    own: readonly string[],
  ) =>
    [
      `.paper{fill:${paper}}.ink{fill:${ink}}.faint{fill:${faint}}`,
      `.grid{stroke:${grid}}.axis,.bound{stroke:${faint}}.whisker{stroke:${ink}}.other{fill:${other}}`,
      ...own.map((colour, index) => `.s${index}{stroke:${colour}}.f${index}{fill:${colour}}`),
    ].join("");
  return [
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Liberation Sans',sans-serif}",
    ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}.grid,.axis{stroke-width:1}",
    ".bound{stroke-width:1.2;stroke-dasharray:3 3}.whisker{stroke-width:1.5;fill:none}",
    ...dashes.map((dash, index) => `.line.s${index}{stroke-dasharray:${dash}}`),
    tones("#ffffff", "#1f2933", "#56616d", "#e3e8ee", "#b3bcc6", light),
    `@media(prefers-color-scheme:dark){${tones("#12171e", "#e6edf3", "#9aa7b4", "#2a323c", "#5b6672", dark)}}`,
  ].join("");
}

/** The title's lines with the content below; `body` receives its top and returns its bottom. */
export function picture(
  { title, desc }: Caption,
  body: (top: number) => { drawn: string; bottom: number },
): string {
  const heading = lines(title, sizes.title, pictureWidth - 2 * margin);
  const headingTop = margin + sizes.title * 0.9;
  const top = headingTop + (heading.length - 1) * sizes.title * 1.3 + 14;
  const { drawn, bottom } = body(top);
  const height = Math.ceil(bottom + margin * 0.75);
  return `${element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${pictureWidth} ${height}`,
      width: pictureWidth,
      height,
      role: "img",
      "aria-labelledby": "title desc",
    },
    element("title", { id: "title" }, words(title)),
    element("desc", { id: "desc" }, words(desc)),
    element("style", {}, style()),
    element("rect", { class: "paper", width: pictureWidth, height, rx: 8 }),
    ...heading.map((line, index) =>
      text(line, {
        x: margin,
        y: headingTop + index * sizes.title * 1.3,
        size: sizes.title,
        bold: true,
      }),
    ),
    drawn,
  )}\n`;
}

const keyWidth = 22;

/** A row of keys, or several when one is too narrow; returns its height. */
export function legend(
  entries: readonly { label: string; drawKey: (x: number, y: number, width: number) => string }[],
  { x, y, width }: { x: number; y: number; width: number },
): { drawn: string; height: number } {
  const rowHeight = sizes.small * 1.5;
  let [left, row] = [0, 0];
  const drawn = entries.map(({ label, drawKey }) => {
    const wide = keyWidth + 6 + textWidth(label, sizes.small);
    if (left > 0 && left + wide > width) [left, row] = [0, row + 1];
    const middle = y + row * rowHeight + rowHeight / 2;
    const [keyX, labelX] = [x + left, x + left + keyWidth + 6];
    left += wide + 16;
    return (
      drawKey(keyX, middle, keyWidth) +
      text(label, { x: labelX, y: middle + sizes.small * 0.35, size: sizes.small, tone: "faint" })
    );
  });
  return { drawn: drawn.join(""), height: entries.length === 0 ? 0 : (row + 1) * rowHeight };
}

export function lineKey(index: number): (x: number, y: number, width: number) => string {
  return (x, y, width) =>
    element("path", { class: `line s${index % colours}`, d: `M${x} ${y}L${x + width} ${y}` });
}
