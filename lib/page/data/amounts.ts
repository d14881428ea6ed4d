/** `3,021,448`, or `10,000+` where counting stopped at its limit. */
export function countText({ count, more }: { count: number; more: boolean }): string {
  return `${numberText(count)}${more ? "+" : ""}`;
}

/** An amount as a count has it: there may be more. */
export interface Amount {
  count: number;
  more: boolean;
}

export const isNone = ({ count, more }: Amount) => count === 0 && !more;

/** `is` after one, `are` after more. */
export const isOrAre = ({ count, more }: Amount) => (count === 1 && !more ? "is" : "are");

/** `1 schedule`, `3,021,448 schedules`, `10,000+ schedules`. */
export function amountText(amount: { count: number; more: boolean }, one: string, many = `${one}s`): string {
  return `${countText(amount)} ${amount.count === 1 && !amount.more ? one : many}`;
}

const whole = new Intl.NumberFormat("en");

export const numberText = (value: number) => whole.format(value);

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
/** Below this a number is short anyway. */
const longFrom = 10_000;

/** `9,999`, `12.3K`, `1.25M`: where a whole number has no room. */
export const shortNumberText = (value: number) =>
  value < longFrom ? numberText(value) : compact.format(value);

/** `0.3 s`, `41 s`, `5 min 51 s`, `2 h 4 min`, `3 d 2 h`: two units at most. */
export function spanText(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const parts = partsOf(Math.round(seconds));
  return parts
    .slice(0, 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(" ");
}

/** `80 ms`, and from a second on as any span. */
export const fineSpanText = (ms: number) => (ms < 1_000 ? `${Math.round(ms)} ms` : spanText(ms));

const units = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
] as const;

/** From the largest unit that is not zero on; a zero behind it is left out. */
function partsOf(seconds: number): [number, string][] {
  let rest = seconds;
  const parts = units.map(([size, unit]): [number, string] => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return [count, unit];
  });
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first === -1 ? parts.length - 1 : first, first + 2)
    .filter(([count], at) => at === 0 || count > 0);
}

const minuteMs = 60_000;
/** The age of an answer below which it is new. */
const newMs = 15_000;

/** `just now`, `40 s ago`, `3 min ago`: so coarse that it does not change each second. */
export function ageText(ms: number): string {
  if (ms < newMs) return "just now";
  const step = ms < minuteMs ? 10_000 : minuteMs;
  return `${spanText(Math.floor(ms / step) * step)} ago`;
}

/** `in 7 h 4 min`, `24 min ago`, `now`. */
export function relativeText(at: number, now: number): string {
  const away = at - now;
  if (Math.abs(away) < 1_000) return "now";
  return away > 0 ? `in ${spanText(away)}` : `${spanText(-away)} ago`;
}
