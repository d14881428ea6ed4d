/** The allowed content of a field of a cron expression. */
export interface FieldShape {
  name: string;
  min: number;
  max: number;
  /** The last value of a `*`, and of a step without an end. */
  last: number;
  names: readonly string[];
  /** The number of the first name. */
  namesFrom: number;
  /** The value of a written number. Days of the week are 0 (Sunday) – 6, whatever the dialect. */
  valueOf(written: number): number;
  /** The range of an `H` without a range; null if the field takes no `H`. */
  spread: { from: number; to: number } | null;
  /**
   * The special forms that the field takes: `?`, and those for days of the month or of the week.
   */
  specials: "none" | "day" | "weekday";
}

const asWritten = (written: number) => written;
const plain = { names: [], namesFrom: 0, valueOf: asWritten, specials: "none" } as const;
const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

export const secondShape: FieldShape = {
  ...plain,
  name: "second",
  min: 0,
  max: 59,
  last: 59,
  spread: { from: 0, to: 59 },
};
export const minuteShape: FieldShape = {
  ...plain,
  name: "minute",
  min: 0,
  max: 59,
  last: 59,
  spread: { from: 0, to: 59 },
};
export const hourShape: FieldShape = {
  ...plain,
  name: "hour",
  min: 0,
  max: 23,
  last: 23,
  spread: { from: 0, to: 23 },
};
export const yearShape: FieldShape = {
  name: "year",
  min: 1970,
  max: 2199,
  last: 2199,
  spread: null,
  ...plain,
};

export const dayShape: FieldShape = {
  ...plain,
  name: "day-of-month",
  min: 1,
  max: 31,
  last: 31,
  /** Every month has these days. */
  spread: { from: 1, to: 28 },
  specials: "day",
};

export const monthShape: FieldShape = {
  ...plain,
  name: "month",
  min: 1,
  max: 12,
  last: 12,
  spread: { from: 1, to: 12 },
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  namesFrom: 1,
};

/** Sunday can be written 7, but it is the first day, so steps do not reach it. */
export const weekdayShape: FieldShape = {
  name: "day-of-week",
  min: 0,
  max: 7,
  last: 6,
  spread: { from: 0, to: 6 },
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
  spread: { from: 1, to: 7 },
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

/** The allowed content of the field, for messages. */
export function allowedIn(shape: FieldShape): string {
  const names = shape.names.length === 0 ? "" : `, names (${shape.names[0]}–${shape.names.at(-1)})`;
  const lists = "lists (a,b), ranges (a-b), steps (*/n, a-b/n, a/n)";
  const spread = shape.spread === null ? "" : ", H and H(a-b) for a value that the key determines";
  return `${shape.min}–${shape.max}${names}, *, ${lists}${specialsOf[shape.specials]}${spread}`;
}
