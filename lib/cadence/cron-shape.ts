/** What the field of a cron expression can hold. */
export interface FieldShape {
  name: string;
  min: number;
  max: number;
  /** What a `*` or a step without an end runs to: a day of week can be written 7, but that is Sunday, the first. */
  last: number;
  names: readonly string[];
  /** The value of the first name. */
  namesFrom: number;
}

const noNames = { names: [], namesFrom: 0 };

export const minuteShape: FieldShape = { name: "minute", min: 0, max: 59, last: 59, ...noNames };
export const hourShape: FieldShape = { name: "hour", min: 0, max: 23, last: 23, ...noNames };
export const dayShape: FieldShape = { name: "day-of-month", min: 1, max: 31, last: 31, ...noNames };

export const monthShape: FieldShape = {
  name: "month",
  min: 1,
  max: 12,
  last: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
  namesFrom: 1,
};

export const weekdayShape: FieldShape = {
  name: "day-of-week",
  min: 0,
  max: 7,
  last: 6,
  names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
  namesFrom: 0,
};

export function sizeOf(shape: FieldShape): number {
  return shape.last - shape.min + 1;
}

/** For messages: what may stand in the field. */
export function allowedIn(shape: FieldShape): string {
  const names = shape.names.length === 0 ? "" : `, names (${shape.names[0]}–${shape.names.at(-1)})`;
  return `${shape.min}–${shape.max}${names}, *, lists (a,b), ranges (a-b) and steps (*/n, a-b/n, a/n)`;
}
