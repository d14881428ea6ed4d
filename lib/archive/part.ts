import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { createGzip } from "node:zlib";
import type { Sql } from "../db/connect.ts";
import type { JobKey } from "../job/job-id.ts";
import { lineOf, type PageBounds, readDay } from "./read-day.ts";

/** A part ends at the limit that it reaches first. */
export interface PartBounds {
  jobs: number;
  bytes: number;
}

export const partDefaults: PartBounds = { jobs: 50_000, bytes: 32 * 1_048_576 };

export interface Part {
  body: Uint8Array;
  jobs: number;
  attempts: number;
  last: JobKey;
}

/** The limits of what is in memory at once: a job with a payload of its own may have 240 KB. */
const pageMax: PageBounds = { jobs: 500, bytes: 4 * 1_048_576 };

/**
 * The next jobs of a day as compressed lines; null if there are none. Only the compressed lines
 * stay in memory.
 */
export async function partOf(
  sql: Sql,
  day: string,
  after: JobKey | null,
  bounds: PartBounds,
): Promise<Part | null> {
  const gzip = createGzip();
  const compressed = buffer(gzip);
  const part = { jobs: 0, attempts: 0, bytes: 0, last: after };
  let jobs = pageMax.jobs;
  while (part.jobs < bounds.jobs && part.bytes < bounds.bytes) {
    const page = await readDay(sql, day, part.last, {
      jobs: Math.min(jobs, bounds.jobs - part.jobs),
      bytes: pageMax.bytes,
    });
    // To measure payloads, the database has to unpack them. So after a page of large jobs, the next
    // query measures at most twice as many jobs as fitted into that page.
    jobs = Math.min(pageMax.jobs, 2 * page.length);
    for (const job of page) {
      const line = lineOf(job);
      part.jobs += 1;
      part.attempts += job.attempts.length;
      part.bytes += Buffer.byteLength(line);
      const { occurrence, scheduleId, kind, n } = job;
      part.last = { occurrence, scheduleId, kind, n };
      if (!gzip.write(line)) await once(gzip, "drain");
      if (part.bytes >= bounds.bytes) break;
    }
    if (page.length === 0) break;
  }
  gzip.end();
  const body = await compressed;
  return part.jobs === 0 || part.last === null
    ? null
    : { body, jobs: part.jobs, attempts: part.attempts, last: part.last };
}
