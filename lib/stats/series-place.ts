import { noOutcomes, type Outcomes, outcomeCounts } from "./outcomes.ts";
import type { Range } from "./series-steps.ts";

/** A place within the ledger: jobs and ranges up to this instant and schedule are not counted yet. */
export interface LedgerPlace {
  at: number;
  id: string;
}

/** Where the next page of a series starts: at the newest step of the range, or within that step. */
export interface SeriesPlace extends Range {
  inside: InsideStep | null;
}

/** A step with more jobs than one page reads: the place in it, and the counts so far. */
export interface InsideStep {
  place: LedgerPlace;
  sofar: Outcomes;
}

export function seriesPlaceText({ from, to, inside }: SeriesPlace): string {
  const range = `${from}.${to}`;
  if (inside === null) return range;
  const { place, sofar } = inside;
  const counts = outcomeCounts.map((name) => sofar[name].toString(36)).join("-");
  const late = [...sofar.late].map(([bucket, jobs]) => `${bucket.toString(36)}-${jobs.toString(36)}`);
  return `${range}.${place.at}.${place.id}.${counts}.${late.join("_")}`;
}

const written =
  /^(\d{1,15})\.(\d{1,15})(?:\.(\d{1,15})\.(\d{1,18})\.([\da-z-]{1,120})\.([\da-z_-]{0,3000}))?$/;

/** Null if the text is not a valid place. */
export function readSeriesPlace(text: string): SeriesPlace | null {
  const [, from, to, at, id, counts = "", late = ""] = written.exec(text) ?? [];
  if (from === undefined || to === undefined) return null;
  const range = { from: Number(from), to: Number(to) };
  const inside =
    at === undefined || id === undefined
      ? null
      : { place: { at: Number(at), id }, sofar: sofarIn(counts, late) };
  const place = { ...range, inside };
  return seriesPlaceText(place) === text ? place : null;
}

/** Numbers that are no numbers are found when the place is written again. */
function sofarIn(counts: string, late: string): Outcomes {
  const sofar = noOutcomes();
  const numbers = counts.split("-").map((each) => Number.parseInt(each, 36));
  for (const [index, name] of outcomeCounts.entries()) sofar[name] = numbers[index] ?? 0;
  for (const pair of late === "" ? [] : late.split("_")) {
    const [bucket = "", jobs = ""] = pair.split("-");
    sofar.late.set(Number.parseInt(bucket, 36), Number.parseInt(jobs, 36));
  }
  return sofar;
}
