import { gzipSync } from "node:zlib";
import type { Sql } from "../db/connect.ts";
import { isOfTheDatabase } from "../db/passing-failure.ts";
import type { Log } from "../log/log.ts";
import { OfNoRow } from "../quarantine/in-halves.ts";
import { notDone, type Tried, tryEach } from "../quarantine/try-rows.ts";
import { lookAtDays } from "../retention/past-days.ts";
import type { ArchiveStore } from "./archive-store.ts";
import { type DayProgress, daysToArchive, finishDay, leaveDay, savePart, takeDay } from "./archived-day.ts";
import { type PartBounds, partOf } from "./part.ts";

export interface ArchiveDeps {
  sql: Sql;
  store: ArchiveStore;
  log: Log;
}

export interface ArchiveParams {
  retentionDays: number;
  part: PartBounds;
}

/**
 * Archives the days that are due, part after part, and returns the days that are complete now. A
 * day that fails is set aside, and the days behind it go on. Each part is stored before its
 * progress is saved, under a name that is the same in each attempt. So an archive that was stopped
 * anywhere is resumed, and two archives at once do no harm. The manifest is written last: a day
 * without a manifest is not complete.
 */
export async function archiveDays(
  deps: ArchiveDeps,
  params: ArchiveParams,
  timeIsUp: () => boolean,
): Promise<string[]> {
  const { sql, log } = deps;
  const archived: string[] = [];
  await lookAtDays(deps, params.retentionDays, timeIsUp);
  const archiveOne = async ({ item }: Tried) => {
    const whole = await takeAndArchive(deps, item, params.part, timeIsUp);
    if (whole === null) return notDone;
    const { day, parts, jobs, attempts } = whole;
    archived.push(day);
    log.info("archive.day", { day, parts, jobs, attempts });
    return day;
  };
  try {
    const days = await daysToArchive(sql, params.retentionDays);
    await tryEach({ sql, log, consumer: "archive" }, days, archiveOne, timeIsUp);
  } catch (error) {
    throw error instanceof OfNoRow ? error.cause : error;
  }
  return archived;
}

/**
 * Takes a day and archives it, as far as the time allows. Null if the time is up, or if another
 * archive has taken the day.
 */
async function takeAndArchive(
  deps: ArchiveDeps,
  day: string,
  bounds: PartBounds,
  timeIsUp: () => boolean,
): Promise<DayProgress | null> {
  const taken = await takeDay(deps.sql, day);
  if (taken === null) return null;
  try {
    return await archiveDay(deps, taken, bounds, timeIsUp);
  } catch (error) {
    // The day is free for the next attempt. If the database is away, the lease ends by itself.
    if (!isOfTheDatabase(error)) await leaveDay(deps.sql, taken);
    throw error;
  }
}

/**
 * Archives the rest of a day that was taken. Null if the time is up, or if another archive has
 * taken the day meanwhile.
 */
async function archiveDay(
  deps: ArchiveDeps,
  begun: DayProgress,
  bounds: PartBounds,
  timeIsUp: () => boolean,
): Promise<DayProgress | null> {
  const { sql, store } = deps;
  let progress = begun;
  for (;;) {
    if (timeIsUp()) {
      await leaveDay(sql, progress);
      return null;
    }
    const part = await partOf(sql, progress.day, progress.place, bounds);
    if (part === null) break;
    const parts = progress.parts + 1;
    await store.put(partName(progress.day, parts), part.body, "application/gzip");
    progress = {
      ...progress,
      place: part.last,
      parts,
      jobs: progress.jobs + part.jobs,
      attempts: progress.attempts + part.attempts,
    };
    if (!(await savePart(sql, progress))) return null;
  }
  await emptyOthers(store, progress);
  await store.put(`${folderOf(progress.day)}manifest.json`, manifestOf(progress), "application/json");
  return (await finishDay(sql, progress)) ? progress : null;
}

/**
 * Empties parts of an earlier archive of this day that lie beyond the last part. A reader would
 * take them for jobs of the day, and this role has no right to delete objects.
 */
async function emptyOthers(store: ArchiveStore, { day, parts, partsMax }: DayProgress): Promise<void> {
  for (let part = parts + 1; part <= partsMax; part++)
    await store.put(partName(day, part), gzipSync(""), "application/gzip");
}

const folderOf = (day: string) => `jobs/day=${day}/`;
const partName = (day: string, part: number) =>
  `${folderOf(day)}part-${String(part).padStart(5, "0")}.jsonl.gz`;

/** Lists the parts of the day, with the sums of their jobs and attempts. */
function manifestOf({ day, parts, jobs, attempts }: DayProgress): Uint8Array {
  const names = Array.from({ length: parts }, (_, index) =>
    partName(day, index + 1).slice(folderOf(day).length),
  );
  return Buffer.from(`${JSON.stringify({ format: 1, day, jobs, attempts, parts: names })}\n`);
}
