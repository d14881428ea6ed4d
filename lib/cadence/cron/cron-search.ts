import { MS_PER_DAY } from "../zone/civil.ts";
import type { CountingSearch } from "../zone/wall-search.ts";
import { daySearch } from "./cron-days.ts";
import type { CronFields } from "./cron-field.ts";
import { timeSearch } from "./cron-times.ts";

const SECONDS_PER_DAY = 86_400;

/**
 * A search for the wall times of an expression. A time that it does not find within a whole cycle
 * of the calendar does not exist.
 */
export function cronSearch(fields: CronFields): CountingSearch {
  const times = timeSearch(fields);
  const days = daySearch(fields);
  return {
    atOrAfter(wall) {
      const second = Math.ceil(wall / 1_000);
      const today = Math.floor(second / SECONDS_PER_DAY);
      const day = days.atOrAfter(today);
      if (day === null) return null;
      if (day > today) return wallOf(day, times.first);
      const time = times.atOrAfter(second - today * SECONDS_PER_DAY);
      if (time >= 0) return wallOf(day, time);
      const later = days.atOrAfter(today + 1);
      return later === null ? null : wallOf(later, times.first);
    },
    atOrBefore(wall) {
      const second = Math.floor(wall / 1_000);
      const today = Math.floor(second / SECONDS_PER_DAY);
      const day = days.atOrBefore(today);
      if (day === null) return null;
      if (day < today) return wallOf(day, times.last);
      const time = times.atOrBefore(second - today * SECONDS_PER_DAY);
      if (time >= 0) return wallOf(day, time);
      const earlier = days.atOrBefore(today - 1);
      return earlier === null ? null : wallOf(earlier, times.last);
    },
    countBetween(from, end, max) {
      const [first, last] = [Math.ceil(from / 1_000), Math.ceil(end / 1_000)];
      const lastDay = Math.floor(last / SECONDS_PER_DAY);
      let count = 0;
      let day = days.atOrAfter(Math.floor(first / SECONDS_PER_DAY));
      for (; day !== null && day <= lastDay && count <= max; day = days.atOrAfter(day + 1)) {
        const midnight = day * SECONDS_PER_DAY;
        const before = times.countBefore(Math.max(0, first - midnight));
        count += Math.max(0, times.countBefore(Math.min(SECONDS_PER_DAY, last - midnight)) - before);
      }
      return count;
    },
  };
}

function wallOf(day: number, second: number): number {
  return day * MS_PER_DAY + second * 1_000;
}
