/** In the order in which the database sorts them. */
export const jobKinds = ["cadence", "manual", "backfill", "again"] as const;

export type JobKind = (typeof jobKinds)[number];

/** The primary key of a job. */
export interface JobKey {
  scheduleId: string;
  occurrence: Date;
  kind: JobKind;
  n: number;
}

export const letterOfKind = { cadence: "c", manual: "m", backfill: "b", again: "a" } as const;
export const kindOfLetter: Readonly<Record<string, JobKind | undefined>> = {
  c: "cadence",
  m: "manual",
  b: "backfill",
  a: "again",
};

/**
 * The job's id is the text form of its primary key (schedule, occurrence in epoch milliseconds,
 * kind and number). So the id alone finds the row, and every attempt at one occurrence has the same
 * id.
 */
export function jobId({ scheduleId, occurrence, kind, n }: JobKey): string {
  return `${scheduleId}-${occurrence.getTime()}-${letterOfKind[kind]}${n}`;
}

const greatestId = 2n ** 63n - 1n;
/** The end of the year 9999, which both Postgres and a JavaScript date can write. */
const greatestInstant = 253_402_300_799_999;

/** Null for a text that cannot be the id of a job. */
export function parseJobId(id: string): JobKey | null {
  const [, scheduleId, occurrence, letter, n] =
    /^([1-9]\d{0,18})-(\d{1,16})-([cmba])(0|[1-9]\d{0,8})$/.exec(id) ?? [];
  const kind = letter === undefined ? undefined : kindOfLetter[letter];
  if (scheduleId === undefined || occurrence === undefined || n === undefined || kind === undefined)
    return null;
  if (BigInt(scheduleId) > greatestId || Number(occurrence) > greatestInstant) return null;
  return { scheduleId, occurrence: new Date(Number(occurrence)), kind, n: Number(n) };
}
