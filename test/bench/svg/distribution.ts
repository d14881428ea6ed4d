import { element, path } from "./element.ts";
import { type Caption, colours, legend, lineKey, margin, picture, pictureWidth, sizes } from "./picture.ts";
import { linearScale, logScale, type Scale, shortNumber } from "./scale.ts";
import { text, widest } from "./text.ts";

/** The number of values in each bucket, from `from` to the next bucket's. */
export interface Buckets {
  label: string;
  buckets: readonly { from: number; to: number; count: number }[];
}

export interface Distribution extends Caption {
  /** Shown under the axis, with its unit: `late by, ms`. */
  xLabel: string;
  series: readonly Buckets[];
  bound: { value: number; label: string };
}

const [howOftenHeight, tailHeight] = [150, 170];
const tailFloor = 0.0001;

/**
 * Two charts over one axis of powers of ten: the share in each bucket, and below it the share that
 * is worse, down to one in ten thousand.
 */
export function distribution({ series, xLabel, bound, ...caption }: Distribution): string {
  const shares = series.map(sharesOf);
  const edges = series.flatMap(({ buckets }) =>
    buckets.flatMap(({ from, to, count }) => (count > 0 ? [from, to] : [])),
  );
  const left = margin + widest(["0.01 %", "100 %"], sizes.small) + 10;
  const right = pictureWidth - margin - 6;
  const xScale = logScale(Math.max(1, Math.min(...edges, bound.value)), Math.max(...edges, bound.value), {
    from: left,
    to: right,
  });
  return picture(caption, (top) => {
    const entries = series.map(({ label }, index) => ({ label, drawKey: lineKey(index) }));
    const keys = legend(entries, { x: margin, y: top, width: pictureWidth - 2 * margin });
    const first = top + keys.height + 34;
    const second = first + howOftenHeight + sizes.small * 1.6 + 40;
    const most = Math.max(...shares.flatMap((own) => own.map(({ share }) => share)));
    const often = linearScale(0, most * 100, { from: first + howOftenHeight, to: first }, 3);
    const tail = logScale(tailFloor, 1, { from: second + tailHeight, to: second });
    const drawn = [
      keys.drawn,
      heading("share of the jobs, in buckets of equal width on this axis", first),
      frame(xScale, often, (tick) => `${shortNumber(tick)} %`, {
        left,
        right,
        bottom: first + howOftenHeight,
      }),
      boundLine(bound, xScale, first, first + howOftenHeight),
      ...shares.map((own, index) => steps(own, index, xScale, often)),
      heading("share of the jobs that are later than this", second),
      frame(xScale, tail, percent, { left, right, bottom: second + tailHeight }),
      boundLine(bound, xScale, second, second + tailHeight),
      ...shares.map((own, index) => worse(own, index, xScale, tail)),
      text(xLabel, {
        x: (left + right) / 2,
        y: second + tailHeight + sizes.small * 2.8,
        size: sizes.small,
        tone: "faint",
        anchor: "middle",
      }),
    ].join("");
    return { drawn, bottom: second + tailHeight + sizes.small * 3 };
  });
}

interface Share {
  from: number;
  to: number;
  share: number;
  /** The share beyond this bucket. */
  beyond: number;
}

function sharesOf({ buckets }: Buckets): Share[] {
  const all = buckets.reduce((sum, { count }) => sum + count, 0);
  let passed = 0;
  return buckets.map(({ from, to, count }) => {
    passed += count;
    return { from, to, share: count / all, beyond: (all - passed) / all };
  });
}

function heading(words: string, y: number): string {
  return text(words, { x: margin, y: y - 10, size: sizes.label, bold: true });
}

function percent(share: number): string {
  return `${shortNumber(share * 100)} %`;
}

function frame(
  xScale: Scale,
  yScale: Scale,
  yText: (tick: number) => string,
  { left, right, bottom }: { left: number; right: number; bottom: number },
): string {
  const place = { size: sizes.small, tone: "faint" } as const;
  const rows = yScale.ticks.map((tick, index) => {
    const y = yScale.at(tick);
    return (
      element("path", {
        class: index === 0 ? "axis" : "grid",
        d: path([
          [left, y],
          [right, y],
        ]),
      }) + text(yText(tick), { x: left - 6, y: y + sizes.small * 0.35, anchor: "end", ...place })
    );
  });
  const columns = xScale.ticks.map((tick) =>
    text(tick.toLocaleString("en"), {
      x: xScale.at(tick),
      y: bottom + sizes.small * 1.4,
      anchor: "middle",
      ...place,
    }),
  );
  return rows.join("") + columns.join("");
}

function boundLine(
  { value, label }: Distribution["bound"],
  xScale: Scale,
  top: number,
  bottom: number,
): string {
  const x = xScale.at(value);
  return (
    element("path", {
      class: "bound",
      d: path([
        [x, top],
        [x, bottom],
      ]),
    }) + text(label, { x: x - 6, y: top + sizes.small, size: sizes.small, tone: "faint", anchor: "end" })
  );
}

function steps(shares: readonly Share[], index: number, xScale: Scale, yScale: Scale): string {
  const points = shares.flatMap(({ from, to, share }) => {
    const y = yScale.at(share * 100);
    return [[xScale.at(from), y] as const, [xScale.at(to), y] as const];
  });
  const outline = path(points);
  const [start, end] = [points[0], points.at(-1)];
  if (outline === undefined || start === undefined || end === undefined) return "";
  const floor = yScale.at(0);
  const area = `${outline}${path([end, [end[0], floor], [start[0], floor]])?.replace("M", "L")}Z`;
  return (
    element("path", { class: `f${index % colours}`, "fill-opacity": 0.12, d: area }) +
    element("path", { class: `line s${index % colours}`, d: outline })
  );
}

/** Down to the floor: the line ends where no value is worse. */
function worse(shares: readonly Share[], index: number, xScale: Scale, yScale: Scale): string {
  const points = shares.flatMap(({ to, beyond }) =>
    beyond >= tailFloor ? [[xScale.at(to), yScale.at(beyond)] as const] : [],
  );
  const next = shares[points.length];
  if (next !== undefined) points.push([xScale.at(next.to), yScale.at(tailFloor)]);
  return element("path", { class: `line s${index % colours}`, d: path(points) });
}
