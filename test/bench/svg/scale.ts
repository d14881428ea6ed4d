/** The positions of values on an axis, and the values that are labelled. */
export interface Scale {
  at(value: number): number;
  ticks: readonly number[];
}

interface Span {
  from: number;
  to: number;
}

/** From zero or below to a round number at or above the greatest value. */
export function linearScale(min: number, max: number, { from, to }: Span, ticksWanted = 4): Scale {
  const step = roundStep((Math.max(max, 0) - Math.min(min, 0) || 1) / ticksWanted);
  const low = Math.floor(Math.min(min, 0) / step + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.max(max, 0) / step - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => (low + n) * step);
  return { at: (value) => from + ((value / step - low) / (high - low)) * (to - from), ticks };
}

/** Whole powers of ten; smaller values are drawn at the first. */
export function logScale(min: number, max: number, { from, to }: Span): Scale {
  if (min <= 0) throw new Error(`An axis of powers of ten cannot begin at ${min}.`);
  const low = Math.floor(Math.log10(min) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(max) - 1e-9));
  const ticks = Array.from({ length: high - low + 1 }, (_, n) => 10 ** (low + n));
  const at = (value: number) =>
    from + ((Math.log10(Math.max(value, 10 ** low)) - low) / (high - low)) * (to - from);
  return { at, ticks };
}

/** 1, 2 or 5 times a power of ten. */
function roundStep(atLeast: number): number {
  const power = 10 ** Math.floor(Math.log10(atLeast));
  const times = [1, 2, 5, 10].find((each) => each * power >= atLeast * (1 - 1e-9)) ?? 10;
  return times * power;
}

const prefixes = [
  { from: 1e9, sign: "G" },
  { from: 1e6, sign: "M" },
  { from: 1e3, sign: "k" },
] as const;

/** `1 200` as `1.2k`: an axis has little room, and three digits are enough. */
export function shortNumber(value: number): string {
  const prefix = prefixes.find(({ from }) => Math.abs(value) >= from * 0.9995);
  const scaled = prefix === undefined ? value : value / prefix.from;
  return `${Number(scaled.toPrecision(3))}${prefix?.sign ?? ""}`;
}
