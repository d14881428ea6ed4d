import { amountText, numberText } from "../amounts.ts";

/** Before each number of an estimate. */
export const estimateText = (isExact: boolean): string => (isExact ? "" : "about ");

export const runsText = (fires: number, isExact: boolean): string =>
  `${estimateText(isExact)}${amountText({ count: fires, more: false }, "run")}`;

/**
 * The runs of a planned minute: `about 1,032 runs, held ones left out`. The agenda counts expressions,
 * whatever becomes of their runs, and before a spread or a slot moves them: its number of the same minute is
 * another one.
 */
export const plannedText = (fires: number, { isExact }: { isExact: boolean }) =>
  `${runsText(fires, isExact)}, held ones left out`;

/** `the next hour`, `the next day`: the time of a forecast that begins now. */
export function aheadText(minutes: number): string {
  if (minutes === 1_440) return "the next day";
  return minutes === 60 ? "the next hour" : `the next ${minutes / 60} hours`;
}

/** The effect of a spread on the busiest minute of a time, after `With a spread of 1h, `. */
export function effectText(peak: number, after: number, isExact: boolean): string {
  const runs = runsText(after, isExact);
  if (after === peak) return `the busiest minute still has ${runs}: it has no effect`;
  const effect = `the busiest minute has ${runs} instead of ${estimateText(isExact)}${numberText(peak)}`;
  return after < peak ? effect : `${effect}: the spread moves runs of the time before into this time`;
}
