import { MS_PER_DAY } from "./civil.ts";
import { daySearch } from "./cron-days.ts";
import type { CronFields } from "./cron-fields.ts";
import { timeSearch } from "./cron-times.ts";
import type { WallSearch } from "./wall-search.ts";

const SECONDS_PER_DAY = 86_400;

/** What is not found within a whole cycle of the calendar never comes. */
export function cronSearch(fields: CronFields): WallSearch {
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
  };
}

function wallOf(day: number, second: number): number {
  return day * MS_PER_DAY + second * 1_000;
}
