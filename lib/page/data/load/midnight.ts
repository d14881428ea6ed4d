import type { Forecast } from "../../../client/forecast.ts";
import { minuteText } from "../time/zone.ts";

/** How many minutes before and after midnight belong to it. */
const around = 10;

export interface MidnightLoad {
  midnight: string;
  /** The busiest minute around midnight. */
  at: string;
  fires: number;
  /** The most runs of a minute there with the spread; null without one. */
  spread: number | null;
}

type Minutes = readonly Pick<Forecast["minutes"][number], "at" | "fires">[];

/** The load around the first midnight of a zone's clock; null if none is among the minutes. */
export function midnightLoad(
  minutes: Minutes,
  { spread, zone }: { spread: Minutes | null; zone: string },
): MidnightLoad | null {
  const place = midnightIn(minutes, zone);
  if (place === -1) return null;
  const near = (all: Minutes) => all.slice(Math.max(0, place - around), place + around + 1);
  const most = near(minutes).reduce((busiest, each) => (each.fires > busiest.fires ? each : busiest));
  return {
    midnight: minutes[place]?.at ?? most.at,
    at: most.at,
    fires: most.fires,
    spread: spread === null ? null : Math.max(...near(spread).map(({ fires }) => fires)),
  };
}

/** The place of the first midnight; -1 if there is none. */
export function midnightIn(minutes: Minutes, zone: string): number {
  return minutes.findIndex(({ at }) => minuteText(Date.parse(at), zone) === "00:00");
}
