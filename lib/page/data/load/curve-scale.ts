import type { Forecast } from "../../../client/forecast.ts";
import { minuteText } from "../time/zone.ts";

/** Round numbers between none and a peak: two to five of them. */
export function countTicks(peak: number): number[] {
  const size = 10 ** Math.floor(Math.log10(Math.max(2, peak) / 2));
  const step = [5, 2, 1].map((factor) => factor * size).find((each) => peak / each >= 2) ?? size;
  return Array.from({ length: Math.floor(peak / step) }, (_, place) => (place + 1) * step);
}

/** Steps of minutes that divide an hour or a day. */
const steps = [5, 10, 15, 30, 60, 120, 180];
const ticksMax = 9;

export interface TimeTick {
  text: string;
  /** Which of the minutes it is. */
  place: number;
}

/** The minutes of a forecast at round times of a zone's clock. */
export function timeTicks(
  minutes: readonly Pick<Forecast["minutes"][number], "at">[],
  zone: string,
): TimeTick[] {
  const step = steps.find((each) => minutes.length / each <= ticksMax) ?? 180;
  return minutes.flatMap(({ at }, place) => {
    const text = minuteText(Date.parse(at), zone);
    const ofDay = Number(text.slice(0, 2)) * 60 + Number(text.slice(3));
    return ofDay % step === 0 ? [{ text, place }] : [];
  });
}
