import { docFormat, type MovedJob, type MovedOwed, type MovedPart, type MovedSchedule } from "./moved-doc.ts";

/** The most jobs, or rows of the backlog, in one part. */
const partItemsMax = 200;
/** A part with more than one of them is no larger. */
const partBytesMax = 500_000;

/** Divides the jobs into parts that a request can carry. */
export function partsOf(
  id: string,
  schedule: MovedSchedule,
  { jobs, owed }: { jobs: readonly MovedJob[]; owed: readonly MovedOwed[] },
): MovedPart[] {
  const first: MovedPart = { format: docFormat, id, part: 0, schedule, jobs: [], owed: [] };
  const parts = [first];
  let current = first;
  let bytes = 0;
  const roomFor = (item: object): MovedPart => {
    const size = Buffer.byteLength(JSON.stringify(item));
    const items = current.jobs.length + current.owed.length;
    if (items > 0 && (bytes + size > partBytesMax || items === partItemsMax)) {
      current = { format: docFormat, id, part: parts.length, schedule: null, jobs: [], owed: [] };
      parts.push(current);
      bytes = 0;
    }
    bytes += size;
    return current;
  };
  for (const job of jobs) roomFor(job).jobs.push(job);
  for (const each of owed) roomFor(each).owed.push(each);
  return parts;
}
