import { element } from "./element.ts";
import { type Caption, margin, picture, pictureWidth, sizes } from "./picture.ts";
import { linearScale, type Scale, shortNumber } from "./scale.ts";
import { text, widest } from "./text.ts";

export interface Bar {
  label: string;
  value: number;
  /** The lowest and the highest of its runs, when there were several. */
  range?: readonly [number, number];
  /** Text beside the value, such as `4.1 ×`. */
  note?: string;
  /** Drawn in colour; the values for comparison are grey. */
  ours?: boolean;
}

export interface Bars extends Caption {
  /** The unit of all values, shown under the axis: `jobs/s`. */
  unit: string;
  groups: readonly { label: string; bars: readonly Bar[] }[];
}

const barHeight = 20;
const barGap = 8;
const groupGap = 14;
const axisHeight = sizes.small * 3;
const labelGap = 10;

/** Horizontal bars on one axis from zero. */
export function bars({ groups, unit, ...caption }: Bars): string {
  const all = groups.flatMap((group) => group.bars);
  const labelsWidth = widest(
    all.map(({ label }) => label),
    sizes.label,
  );
  const left = margin + labelsWidth + labelGap;
  const right = pictureWidth - margin - widest(all.map(valueText), sizes.label) - labelGap;
  const greatest = Math.max(0, ...all.flatMap(({ value, range = [value, value] }) => [value, ...range]));
  const scale = linearScale(0, greatest, { from: left, to: right });
  return picture(caption, (top) => {
    const drawn: string[] = [];
    let y = top + 4;
    for (const { label, bars: own } of groups) {
      if (label !== "") {
        drawn.push(text(label, { x: margin, y: y + sizes.label, size: sizes.label, bold: true }));
        y += sizes.label * 1.8;
      }
      drawn.push(grid(scale, y, y + own.length * (barHeight + barGap)));
      for (const bar of own) {
        drawn.push(oneBar(bar, y + barGap / 2, left, scale));
        y += barHeight + barGap;
      }
      y += groupGap;
    }
    return { drawn: drawn.join("") + axis(scale, unit, y - groupGap), bottom: y - groupGap + axisHeight };
  });
}

function valueText({ value, note }: Bar): string {
  return `${value.toLocaleString("en", { maximumFractionDigits: 2 })}${note === undefined ? "" : ` · ${note}`}`;
}

function oneBar(bar: Bar, y: number, left: number, scale: Scale): string {
  const { label, value, range, ours = false } = bar;
  const baseline = y + barHeight / 2 + sizes.label * 0.35;
  const end = Math.max(scale.at(value), scale.at(range?.[1] ?? value));
  return [
    text(label, { x: left - labelGap, y: baseline, size: sizes.label, anchor: "end", bold: ours }),
    element("rect", {
      class: ours ? "f0" : "other",
      x: left,
      y,
      width: Math.max(1, scale.at(value) - left),
      height: barHeight,
      rx: 2,
    }),
    range === undefined ? "" : whisker(scale.at(range[0]), scale.at(range[1]), y + barHeight / 2),
    text(valueText(bar), { x: end + labelGap, y: baseline, size: sizes.label, bold: ours }),
  ].join("");
}

function whisker(from: number, to: number, y: number): string {
  const [x1, x2, half] = [Math.round(from), Math.round(to), 4];
  const d = `M${x1} ${y - half}V${y + half}M${x1} ${y}H${x2}M${x2} ${y - half}V${y + half}`;
  return element("path", { class: "whisker", d });
}

/** Only behind the bars, so that no line runs through a group's name. */
function grid(scale: Scale, top: number, bottom: number): string {
  const tickLines = scale.ticks.map((tick, index) => {
    const x = scale.at(tick).toFixed(1);
    return element("path", { class: index === 0 ? "axis" : "grid", d: `M${x} ${top}V${bottom}` });
  });
  return tickLines.join("");
}

function axis(scale: Scale, unit: string, bottom: number): string {
  const y = bottom + sizes.small * 1.4;
  const place = { size: sizes.small, tone: "faint", anchor: "middle" } as const;
  const ticks = scale.ticks.map((tick) => text(shortNumber(tick), { x: scale.at(tick), y, ...place }));
  const [first = 0, last = 0] = [scale.ticks[0], scale.ticks.at(-1)];
  const x = (scale.at(first) + scale.at(last)) / 2;
  return ticks.join("") + text(unit, { x, y: y + sizes.small * 1.5, ...place });
}
