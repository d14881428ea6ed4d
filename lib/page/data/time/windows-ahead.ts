import { dateAfter, instantOfWall, midnightOf } from "./wall-input.ts";
import { dateText } from "./zone.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export interface WindowAhead {
  name: string;
  from: string;
  to: string;
}

/** The windows that are looked at most: the coming hour, the next day, and the begin of the next week's work. */
export function windowsAhead(now: number, zone: string): WindowAhead[] {
  const today = dateText(now, zone);
  const monday = dateAfter(today, 7 - daysSinceMonday(today));
  const hour = Math.floor(now / minuteMs) * minuteMs;
  const work = instantOfWall(`${monday}T09:00`, zone) ?? 0;
  return [
    windowOf("Coming hour", hour, hour + hourMs),
    windowOf("Tomorrow", midnightOf(dateAfter(today, 1), zone), midnightOf(dateAfter(today, 2), zone)),
    windowOf("Next Monday 09:00–10:00", work, work + hourMs),
  ];
}

const daysSinceMonday = (date: string) => (new Date(`${date}T00:00Z`).getUTCDay() + 6) % 7;

const windowOf = (name: string, from: number, to: number): WindowAhead => ({
  name,
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
});
