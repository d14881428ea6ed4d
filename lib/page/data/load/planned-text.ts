import { amountText } from "../amounts.ts";

/**
 * The runs of a planned minute: `about 1,032 runs, held ones left out`. The agenda counts expressions,
 * whatever becomes of their runs, so its number of the same minute may be higher.
 */
export const plannedText = (fires: number, { isExact }: { isExact: boolean }) =>
  `${isExact ? "" : "about "}${amountText({ count: fires, more: false }, "run")}, held ones left out`;

/** `the next hour`, `the next day`: the time of a forecast that begins now. */
export function aheadText(minutes: number): string {
  if (minutes === 1_440) return "the next day";
  return minutes === 60 ? "the next hour" : `the next ${minutes / 60} hours`;
}
