/** What the field of a cron expression can hold. */
export interface FieldShape {
  name: string;
  min: number;
  max: number;
  /** What a `*` or a step without an end runs to. */
  last: number;
  names: readonly string[];
  /** The number of the first name. */
  namesFrom: number;
  /** The value that a written number stands for: days of the week are 0 (Sunday) – 6, however a dialect counts them. */
  valueOf(written: number): number;
  /** Which special forms it takes besides: `?`, and those for days of the month or of the week. */
  specials: "none" | "day" | "weekday";
}

const asWritten = (written: number) => written;
const plain = { names: [], namesFrom: 0, valueOf: asWritten, specials: "none" } as const;
const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

export const secondShape: FieldShape = { name: "second", min: 0, max: 59, last: 59, ...plain };
export const minuteShape: FieldShape = { name: "minute", min: 0, max: 59, last: 59, ...plain };
export const hourShape: FieldShape = { name: "hour", min: 0, max: 23, last: 23, ...plain };
export const yearShape: FieldShape = { name: "year", min: 1970, max: 2199, last: 2199, ...plain };

export const dayShape: FieldShape = {
  ...plain,
  name: "day-of-month",
  min: 1,
  max: 31,
  last: 31,
  specials: "day",
};

export const monthShape: FieldShape = {
  ...plain,
  name: "month",
  min: 1,
  max: 12,
  last: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  namesFrom: 1,
};

/** Sunday can be written 7, but it is the first day, so steps do not run on to it. */
export const weekdayShape: FieldShape = {
  name: "day-of-week",
  min: 0,
  max: 7,
  last: 6,
  names: weekdayNames,
  namesFrom: 0,
  valueOf: (written) => written % 7,
  specials: "weekday",
};

/** AWS counts from Sunday, 1, to Saturday, 7. */
export const awsWeekdayShape: FieldShape = {
  name: "day-of-week",
  min: 1,
  max: 7,
  last: 7,
  names: weekdayNames,
  namesFrom: 1,
  valueOf: (written) => written - 1,
  specials: "weekday",
};

export function sizeOf(shape: FieldShape): number {
  return shape.last - shape.min + 1;
}

const specialsOf = {
  none: "",
  day: ", ?, the last day (L, L-3, LW) and the nearest weekday (15W)",
  weekday: ", ?, the nth (mon#2) and the last (friL) of the month",
};

/** For messages: what may stand in the field. */
export function allowedIn(shape: FieldShape): string {
  const names = shape.names.length === 0 ? "" : `, names (${shape.names[0]}–${shape.names.at(-1)})`;
  const lists = "lists (a,b), ranges (a-b), steps (*/n, a-b/n, a/n)";
  return `${shape.min}–${shape.max}${names}, *, ${lists}${specialsOf[shape.specials]}`;
}
