import type { Field } from "./cron-field.ts";
import { type FieldShape, hourShape, minuteShape, secondShape, sizeOf } from "./cron-shape.ts";

/**
 * Second, minute and hour by their values, independent of their spelling; a second of 0 is left
 * out. An expression that is not fixed-time keeps a `*` or `/`: without one, the normal form would
 * be read as a fixed time.
 */
export function timeText({ second, minute, hour }: { second: Field; minute: Field; hour: Field }): string {
  const interval = second.stepped || minute.stepped || hour.stepped;
  const write = interval ? steppedText : valuesText;
  const atZero = second.values.length === 1 && second.values[0] === 0;
  const secondText = atZero ? "" : `${write(second.values, secondShape)} `;
  const text = `${secondText}${write(minute.values, minuteShape)} ${write(hour.values, hourShape)}`;
  if (!interval || /[*/]/.test(text)) return text;
  return `${secondText}${markedText(minute.values)} ${valuesText(hour.values)}`;
}

/**
 * Minutes at uneven distances, written with a step so that they do not read as a fixed time:
 * `*\/15,7`, and as the last resort `9-9/1`.
 */
function markedText(values: readonly number[]): string {
  for (let step = 2; step <= 30; step += 1) {
    const rest = values.filter((value) => value % step !== 0);
    if (values.length - rest.length === Math.ceil(60 / step)) return `*/${step},${valuesText(rest)}`;
  }
  const [first = 0, ...rest] = values;
  return [`${first}-${first}/1`, ...(rest.length > 0 ? [valuesText(rest)] : [])].join(",");
}

/** Values at even distances as a step, others as a list. */
function steppedText(values: readonly number[], shape: FieldShape): string {
  const [first = shape.min, second = shape.last] = values;
  const last = values.at(-1) ?? first;
  const step = second - first;
  if (values.length === sizeOf(shape)) return "*";
  const even = values.length > 1 && values.every((value, index) => value === first + index * step);
  if (!even || step === 1) return valuesText(values);
  const toTheEnd = last + step > shape.last;
  if (toTheEnd && first === shape.min) return `*/${step}`;
  if (values.length === 2) return valuesText(values);
  return toTheEnd ? `${first}/${step}` : `${first}-${last}/${step}`;
}

/** `1-5`, `1,3,5`, `0,2-4`: three and more in a row become a range. */
export function valuesText(values: readonly number[]): string {
  return runsOf(values)
    .map(({ from, to }) => (to - from >= 2 ? `${from}-${to}` : to > from ? `${from},${to}` : `${from}`))
    .join(",");
}

/** The runs of consecutive numbers in rising values. */
export function runsOf(values: readonly number[]): { from: number; to: number }[] {
  const runs: { from: number; to: number }[] = [];
  for (const value of values) {
    const run = runs.at(-1);
    if (run !== undefined && run.to === value - 1) run.to = value;
    else runs.push({ from: value, to: value });
  }
  return runs;
}
