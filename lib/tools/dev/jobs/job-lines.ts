import { BoundedMap } from "../../../bounded-map.ts";
import { reasonText } from "../../../cli/output/reasons.ts";
import { type Paint, printable, stateColour } from "../../../cli/output/style.ts";
import { cut, grouped } from "../../../cli/output/table.ts";
import { measuredText } from "../../../cli/times.ts";
import type { JobSummary } from "../../../client/main.ts";

export interface JobLinesParts {
  paint: Paint;
  now: () => Date;
  /** The target of the job's schedule, in a few words. */
  targetOf(job: JobSummary): Promise<string>;
}

export type JobLines = (jobs: readonly JobSummary[], isCut: boolean) => Promise<string[]>;

/** A person reads no more lines in a second. */
const linesMax = 20;
const errorWidth = 300;
const keyWidthMax = 32;
const targetWidthMax = 28;

/** The time on this machine's clock. */
export const clockTime = (at: Date): string => at.toTimeString().slice(0, 8);

/** One line for each job; of many jobs, failures come first, and the others are counted. */
export function jobLines({ paint, now, targetOf }: JobLinesParts): JobLines {
  const widths = { key: 12, target: 12 };
  const lineOf = async (job: JobSummary): Promise<string> => {
    const at = job.state === "retrying" || job.finishedAt === null ? now() : new Date(job.finishedAt);
    const key = cut(printable(job.key), keyWidthMax);
    const target = cut(printable(await targetOf(job)), targetWidthMax);
    widths.key = Math.max(widths.key, key.length);
    widths.target = Math.max(widths.target, target.length);
    const columns = [
      clockTime(at),
      paint(job.state.padEnd(9), stateColour(job.state)),
      key.padEnd(widths.key),
      target.padEnd(widths.target),
      measuredText(job.durationMs).padStart(7),
      job.attempt > 1 || job.state === "retrying" || job.state === "dead" ? `try ${job.attempt}` : "",
      whyOf(job),
    ];
    return columns.join("  ").trimEnd();
  };
  return async (jobs, isCut) => {
    const shown = [...jobs].sort((one, other) => rank(one) - rank(other)).slice(0, linesMax);
    const lines: string[] = [];
    for (const job of shown.sort((one, other) => endOf(one) - endOf(other))) lines.push(await lineOf(job));
    const left = jobs.length - shown.length;
    const atLeast = isCut ? "at least " : "";
    if (left > 0) lines.push(`          … and ${atLeast}${grouped.format(left)} more in this second`);
    return lines;
  };
}

const rank = ({ state }: JobSummary) => (state === "dead" ? 0 : state === "retrying" ? 1 : 2);

function endOf({ finishedAt }: JobSummary): number {
  return finishedAt === null ? Number.POSITIVE_INFINITY : Date.parse(finishedAt);
}

function whyOf({ state, reason, error, readyAt }: JobSummary): string {
  const again = state === "retrying" && readyAt !== null ? `next try at ${clockTime(new Date(readyAt))}` : "";
  const why = reason === null || (state === "dead" && reason === "attempts") ? "" : reasonText(reason);
  return printable([again, why, error === null ? "" : cut(error, errorWidth)].filter(Boolean).join(": "));
}

/** The targets of schedules, by key and version. */
export function rememberedTargets(read: (key: string) => Promise<string>): JobLinesParts["targetOf"] {
  const targets = new BoundedMap<string, string>(1_000);
  return async ({ key, version }) => {
    const name = `${version} ${key}`;
    const target = targets.get(name) ?? (await read(key));
    targets.set(name, target);
    return target;
  };
}
