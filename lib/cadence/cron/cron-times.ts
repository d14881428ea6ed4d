import type { CronFields } from "./cron-field.ts";

/**
 * Finds the times of day that match an expression, in seconds since midnight; -1 means that the day
 * has none left.
 */
export interface TimeSearch {
  first: number;
  last: number;
  atOrAfter(second: number): number;
  atOrBefore(second: number): number;
  /** The number of matching times before this second of the day. */
  countBefore(second: number): number;
}

export function timeSearch(fields: CronFields): TimeSearch {
  const hours = nearest(fields.hours, 24);
  const minutes = nearest(fields.minutes, 60);
  const seconds = nearest(fields.seconds, 60);
  return {
    first: hours.first * 3_600 + minutes.first * 60 + seconds.first,
    last: hours.last * 3_600 + minutes.last * 60 + seconds.last,
    atOrAfter(time) {
      const hour = Math.floor(time / 3_600);
      const minute = Math.floor(time / 60) % 60;
      if (hours.up(hour) === hour) {
        const second = minutes.up(minute) === minute ? seconds.up(time % 60) : -1;
        if (second >= 0) return hour * 3_600 + minute * 60 + second;
        const later = minutes.up(minute + 1);
        if (later >= 0) return hour * 3_600 + later * 60 + seconds.first;
      }
      const later = hours.up(hour + 1);
      return later < 0 ? -1 : later * 3_600 + minutes.first * 60 + seconds.first;
    },
    atOrBefore(time) {
      const hour = Math.floor(time / 3_600);
      const minute = Math.floor(time / 60) % 60;
      if (hours.down(hour) === hour) {
        const second = minutes.down(minute) === minute ? seconds.down(time % 60) : -1;
        if (second >= 0) return hour * 3_600 + minute * 60 + second;
        const earlier = minutes.down(minute - 1);
        if (earlier >= 0) return hour * 3_600 + earlier * 60 + seconds.last;
      }
      const earlier = hours.down(hour - 1);
      return earlier < 0 ? -1 : earlier * 3_600 + minutes.last * 60 + seconds.last;
    },
    countBefore(time) {
      const hour = Math.floor(time / 3_600);
      const minute = Math.floor(time / 60) % 60;
      const inMinute = minutes.up(minute) === minute ? seconds.below(time % 60) : 0;
      const inHour = hours.up(hour) === hour ? minutes.below(minute) * seconds.size + inMinute : 0;
      return hours.below(hour) * minutes.size * seconds.size + inHour;
    },
  };
}

interface Nearest {
  first: number;
  last: number;
  size: number;
  /** The number of values below this one. */
  below(value: number): number;
  /** The nearest value at or above; -1 if there is none. */
  up(from: number): number;
  /** The nearest value at or below; -1 if there is none. */
  down(from: number): number;
}

/**
 * The lookups for the values of a field, from tables with an entry for each value that the field
 * can have.
 */
function nearest(values: readonly number[], size: number): Nearest {
  const up = new Int8Array(size).fill(-1);
  for (const value of values.toReversed()) up.fill(value, 0, value + 1);
  const down = new Int8Array(size).fill(-1);
  for (const value of values) down.fill(value, value);
  const distinct = [...new Set(values)];
  const below = Int8Array.from(
    { length: size + 1 },
    (_, at) => distinct.filter((value) => value < at).length,
  );
  return {
    size: distinct.length,
    below: (value) => below[value] ?? distinct.length,
    first: values[0] ?? 0,
    last: values.at(-1) ?? 0,
    up: (from) => up[from] ?? -1,
    down: (from) => down[from] ?? -1,
  };
}
