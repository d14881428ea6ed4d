import { element, path } from "./element.ts";
import { type Caption, colours, legend, lineKey, margin, picture, pictureWidth, sizes } from "./picture.ts";
import { linearScale, type Scale, shortNumber } from "./scale.ts";
import { text, widest } from "./text.ts";

export interface Line {
  label: string;
  /** A null is a gap without a measurement. */
  points: readonly { x: number; y: number | null }[];
}

export interface Panel {
  label: string;
  unit: string;
  lines: readonly Line[];
  /** A shaded band between two of the lines, such as p50 and p99. */
  band?: { low: number; high: number };
  /** A promised value, drawn as a dashed line. */
  bound?: { value: number; label: string };
}

export interface TimeSeries extends Caption {
  /** Shown under each axis: `minutes`. */
  xLabel: string;
  panels: readonly Panel[];
}

const columns = 2;
const columnGap = 28;
const plotHeight = 120;
const rowGap = 26;

interface Place {
  x: number;
  y: number;
  width: number;
}

/** Small panels over the same time, each with its own axis from zero. */
export function timeSeries({ panels, xLabel, ...caption }: TimeSeries): string {
  const width = (pictureWidth - 2 * margin - (columns - 1) * columnGap) / columns;
  const xs = panels.flatMap(({ lines }) => lines.flatMap(({ points }) => points.map(({ x }) => x)));
  const span = { min: Math.min(0, ...xs), max: Math.max(0, ...xs) };
  return picture(caption, (top) => {
    const drawn: string[] = [];
    let y = top + 6;
    for (let row = 0; row < panels.length; row += columns) {
      const own = panels.slice(row, row + columns);
      const keys = own.map((panel, column) => {
        const x = margin + column * (width + columnGap);
        return drawHead(panel, { x, y, width });
      });
      const headHeight = Math.max(...keys.map(({ height }) => height));
      for (const [column, panel] of own.entries()) {
        const place = { x: margin + column * (width + columnGap), y: y + headHeight, width };
        drawn.push(keys[column]?.drawn ?? "", drawPanel(panel, place, span, xLabel));
      }
      y += headHeight + plotHeight + sizes.small * 3 + rowGap;
    }
    return { drawn: drawn.join(""), bottom: y - rowGap };
  });
}

/** The panel's title and unit, and the legend of its lines. */
function drawHead(panel: Panel, { x, y, width }: Place): { drawn: string; height: number } {
  const title = text(`${panel.label} (${panel.unit})`, {
    x,
    y: y + sizes.label,
    size: sizes.label,
    bold: true,
  });
  const top = y + sizes.label * 1.5;
  const named = panel.lines.length === 1 && panel.lines[0]?.label === "" ? [] : panel.lines;
  const entries = named.map(({ label }, index) => ({ label, drawKey: lineKey(index) }));
  const keys = legend(entries, { x, y: top, width });
  return { drawn: title + keys.drawn, height: sizes.label * 1.5 + keys.height + 8 };
}

function drawPanel(
  { lines, band, bound }: Panel,
  { x, y, width }: Place,
  span: { min: number; max: number },
  xLabel: string,
): string {
  const values = lines.flatMap(({ points }) => points.flatMap((point) => point.y ?? []));
  const vertical = { from: y + plotHeight, to: y };
  const yScale = linearScale(
    Math.min(0, ...values),
    Math.max(0, ...values, ...(bound === undefined ? [] : [bound.value])),
    vertical,
    3,
  );
  const left = x + widest(yScale.ticks.map(shortNumber), sizes.small) + 8;
  const right = x + width - 8;
  const xScale = { ...linearScale(span.min, span.max, { from: left, to: right }) };
  const shown = fitted(xScale, span.max, { from: left, to: right });
  return [
    drawAxes({ xScale: shown, yScale }, { left, right, bottom: y + plotHeight }, xLabel),
    band === undefined ? "" : drawBand(lines[band.low], lines[band.high], band.high, shown, yScale),
    bound === undefined ? "" : drawBound(bound, yScale, left, right),
    ...lines.map(({ points }, index) =>
      element("path", { class: `line s${index % colours}`, d: linePath(points, shown, yScale) ?? "M0 0" }),
    ),
  ].join("");
}

/** The time axis ends with the data, not at the next round number. */
function fitted(scale: Scale, max: number, { from, to }: { from: number; to: number }): Scale {
  const stretch = (to - from) / Math.max(1, scale.at(max) - from);
  return {
    at: (value) => from + (scale.at(value) - from) * stretch,
    ticks: scale.ticks.filter((tick) => tick <= max * 1.0001),
  };
}

function drawAxes(
  { xScale, yScale }: { xScale: Scale; yScale: Scale },
  { left, right, bottom }: { left: number; right: number; bottom: number },
  xLabel: string,
): string {
  const place = { size: sizes.small, tone: "faint" } as const;
  const rows = yScale.ticks.map((tick) => {
    const y = yScale.at(tick);
    return (
      element("path", {
        class: tick === 0 ? "axis" : "grid",
        d: path([
          [left, y],
          [right, y],
        ]),
      }) + text(shortNumber(tick), { x: left - 6, y: y + sizes.small * 0.35, anchor: "end", ...place })
    );
  });
  const below = bottom + sizes.small * 1.3;
  const columnsDrawn = xScale.ticks.map((tick) =>
    text(shortNumber(tick), { x: xScale.at(tick), y: below, anchor: "middle", ...place }),
  );
  const named = text(xLabel, {
    x: (left + right) / 2,
    y: below + sizes.small * 1.3,
    anchor: "middle",
    ...place,
  });
  return rows.join("") + columnsDrawn.join("") + named;
}

function drawBand(
  low: Line | undefined,
  high: Line | undefined,
  index: number,
  xScale: Scale,
  yScale: Scale,
): string {
  if (low === undefined || high === undefined) throw new Error("A band lies between two lines of its panel.");
  const at = ({ x, y }: { x: number; y: number | null }): (readonly [number, number])[] =>
    y === null ? [] : [[xScale.at(x), yScale.at(y)]];
  const outline = path([...high.points.flatMap(at), ...low.points.toReversed().flatMap(at)]);
  if (outline === undefined) return "";
  return element("path", { class: `f${index % colours}`, "fill-opacity": 0.15, d: `${outline}Z` });
}

function drawBound(
  { value, label }: { value: number; label: string },
  yScale: Scale,
  left: number,
  right: number,
): string {
  const y = yScale.at(value);
  return (
    element("path", {
      class: "bound",
      d: path([
        [left, y],
        [right, y],
      ]),
    }) + text(label, { x: right - 2, y: y - 4, size: sizes.small, tone: "faint", anchor: "end" })
  );
}

/** Interrupted where there is no measurement. */
function linePath(points: Line["points"], xScale: Scale, yScale: Scale): string | undefined {
  const stretches: (readonly [number, number])[][] = [[]];
  for (const { x, y } of points) {
    if (y === null) stretches.push([]);
    else stretches.at(-1)?.push([xScale.at(x), yScale.at(y)]);
  }
  const drawn = stretches.flatMap((stretch) => path(stretch) ?? []);
  return drawn.length === 0 ? undefined : drawn.join("");
}
