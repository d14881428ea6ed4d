/**
 * When schedules fire over a day, as shares of all fires: people choose full hours, and most often
 * midnight.
 */
export interface Profile {
  name: string;
  firesPerDay: number;
  midnight: number;
  fullHours: number;
  fullMinutes: number;
  /** The largest shift of a schedule (its `spread`), in seconds. */
  spread: number;
}

export const profiles: readonly Profile[] = [
  {
    name: "once a day, many at midnight",
    firesPerDay: 1,
    midnight: 0.2,
    fullHours: 0.3,
    fullMinutes: 0.3,
    spread: 0,
  },
  {
    name: "the same, `spread` of an hour",
    firesPerDay: 1,
    midnight: 0.2,
    fullHours: 0.3,
    fullMinutes: 0.3,
    spread: 3_600,
  },
  {
    name: "hourly, half at full hours",
    firesPerDay: 24,
    midnight: 0,
    fullHours: 0.5,
    fullMinutes: 0.3,
    spread: 0,
  },
  {
    name: "hourly, `spread` of ten minutes",
    firesPerDay: 24,
    midnight: 0,
    fullHours: 0.5,
    fullMinutes: 0.3,
    spread: 600,
  },
  {
    name: "each minute, spread over it",
    firesPerDay: 1_440,
    midnight: 0,
    fullHours: 0,
    fullMinutes: 1,
    spread: 60,
  },
];

/**
 * The seconds before midnight that are simulated, in which the peak's jobs are made, and those
 * after it.
 */
const before = 240;
const after = 1_200;

/** The jobs that are due in each second around midnight, the worst time of each profile. */
export function dueAroundMidnight(schedules: number, profile: Profile): number[] {
  const { firesPerDay, midnight, fullHours, fullMinutes, spread } = profile;
  const fires = schedules * firesPerDay;
  const rest = (fires * (1 - midnight - fullHours - fullMinutes)) / 86_400;
  const due = Array.from({ length: before + after }, () => rest);
  // Spread jobs are due evenly within their spread.
  const over = Math.max(1, spread);
  const add = (second: number, count: number) => {
    for (let at = Math.max(0, second); at < Math.min(due.length, second + over); at++)
      due[at] = (due[at] ?? 0) + count / over;
  };
  // Includes jobs that were spread into the window from the hour before it.
  const firstMinute = (before % 60) - Math.ceil(spread / 60) * 60;
  for (let second = firstMinute; second < due.length; second += 60)
    add(second, (fires * fullMinutes) / 1_440);
  for (const hour of [before - 3_600, before]) add(hour, (fires * fullHours) / 24);
  add(before, fires * midnight);
  return due;
}
