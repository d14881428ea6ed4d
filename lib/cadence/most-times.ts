/**
 * The times of day of a cron expression: each hour with each minute with each second, in rising
 * order.
 */
export interface TimesOfDay {
  hours: readonly number[];
  minutes: readonly number[];
  seconds: readonly number[];
}

const DAY_SECONDS = 86_400;
const DAY_MINUTES = 1_440;

/**
 * The largest number of times of day within `lengthSeconds`, both ends included, if every day has
 * all of them. It may be slightly too high where a minute has several times at uneven distances,
 * and is never too low. The work is bounded: each minute of a day once.
 */
export function mostTimesWithin(times: TimesOfDay, lengthSeconds: number): number {
  const byDistance = Math.floor(lengthSeconds / leastDistance(times)) + 1;
  const { hours, minutes, seconds } = times;
  // A window that begins with a minute's last second reaches into more minutes than one that begins
  // with its first.
  const reach = Math.floor((lengthSeconds + (seconds.at(-1) ?? 0) - (seconds[0] ?? 0)) / 60);
  const before = minutesBefore(times);
  let most = 0;
  for (const hour of hours) {
    for (const minute of minutes) {
      const from = hour * 60 + minute;
      most = Math.max(most, (before(from + reach + 1) - before(from)) * seconds.length);
      if (most >= byDistance) return byDistance;
    }
  }
  return most;
}

/** The smallest distance between two of the times, in seconds. */
export function leastDistance({ hours, minutes, seconds }: TimesOfDay): number {
  if (seconds.length > 1) return leastStep(seconds, 60);
  if (minutes.length > 1) return leastStep(minutes, 60) * 60;
  return hours.length > 1 ? leastStep(hours, 24) * 3_600 : DAY_SECONDS;
}

function leastStep(values: readonly number[], size: number): number {
  const steps = values.map((value, index) => (values[index + 1] ?? (values[0] ?? 0) + size) - value);
  return Math.min(...steps);
}

/**
 * Returns a function for the number of minutes before a given minute that have a time of the
 * expression. Minutes count from the midnight of the first of several days.
 */
function minutesBefore({ hours, minutes }: TimesOfDay): (minute: number) => number {
  // A list of the minutes that have a time, since most expressions have few. A table with a count
  // for each minute of the day took a sixth of the time that a batch with spreads computes under
  // its locks.
  const ofDay = hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute));
  return (minute) => {
    const days = Math.floor(minute / DAY_MINUTES);
    return days * ofDay.length + countBelow(ofDay, minute - days * DAY_MINUTES);
  };
}

/** The values must be in rising order. */
function countBelow(values: readonly number[], bound: number): number {
  let [from, to] = [0, values.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((values[middle] ?? bound) < bound) from = middle + 1;
    else to = middle;
  }
  return from;
}
