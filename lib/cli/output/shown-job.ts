import type { Job, JobSummary } from "../../client/main.ts";
import { measuredText } from "../times.ts";
import type { Output } from "./output.ts";
import { reasonText, waitText } from "./reasons.ts";
import { printable, stateColour } from "./style.ts";
import { type Column, wholeTime } from "./table.ts";
import { showTimeline } from "./timeline.ts";

export function jobColumns({ times }: Output): Column<JobSummary>[] {
  return [
    { title: "ID", text: ({ id }) => id, whole: true },
    { title: "KEY", text: ({ key }) => key },
    { title: "STATE", text: ({ state }) => state, colour: ({ state }) => stateColour(state), whole: true },
    { title: `DUE (${times.zone})`, text: ({ dueAt }) => times.both(dueAt), narrowest: wholeTime },
    { title: "LATE", text: ({ latenessMs }) => measuredText(latenessMs), align: "right", whole: true },
    { title: "TRIES", text: ({ attempt }) => String(attempt), align: "right", whole: true },
    { title: "WHY", text: reasonOf },
    { title: "ERROR", text: ({ error }) => error ?? "" },
  ];
}

/** The reason or further state of a job, and its kind if it is no job of the cadence. */
function reasonOf({ reason, cancelling, kind, waitsFor }: JobSummary): string {
  const words = [
    cancelling ? "notified to stop" : "",
    reason ?? "",
    waitsFor === null ? "" : waitText(waitsFor),
    kind === "cadence" ? "" : `(${kind})`,
  ];
  return words.filter((each) => each !== "").join(" ");
}

/** The reason and the error of a job, in one text: `attempts; error: db is down`. */
export function whyOf(job: JobSummary): string {
  const words = [reasonOf(job), job.error === null ? "" : `error: ${job.error}`];
  return words.filter((each) => each !== "").join("; ");
}

export function showJob(out: Output, job: Job, done?: string): void {
  if (out.isJson) {
    out.json(job);
    return;
  }
  const { times } = out;
  if (done !== undefined) out.line(done);
  out.facts([
    ["id", job.id],
    ["key", printable(job.key)],
    ["state", out.paint(job.state, stateColour(job.state))],
    ["kind", job.kind === "cadence" ? null : job.kind],
    ["stop", job.cancelling ? "its worker is notified to stop it" : null],
    ["reason", job.reason === null ? null : printable(reasonText(job.reason))],
    ["waits", job.waitsFor === null ? null : waitText(job.waitsFor)],
    ["error", job.error === null ? null : out.paint(printable(job.error), "red")],
    ["error group", job.errorGroup],
    [`due (${times.zone})`, times.both(job.dueAt)],
    ["ready", job.readyAt === null || job.readyAt === job.dueAt ? null : times.both(job.readyAt)],
    [
      "started",
      job.startedAt === null ? null : `${times.both(job.startedAt)}, ${measuredText(job.latenessMs)} late`,
    ],
    [
      "finished",
      job.finishedAt === null ? null : `${times.both(job.finishedAt)}, took ${measuredText(job.durationMs)}`,
    ],
    ["payload", printable(JSON.stringify(job.payload))],
    ...job.attempts.map(({ attempt, outcome, startedAt, durationMs, error }) => {
      const words = error === null ? "" : `: ${printable(error)}`;
      return [
        `try ${attempt}`,
        `${times.wall(startedAt)} ${outcome} in ${measuredText(durationMs)}${words}`,
      ] as const;
    }),
  ]);
  showTimeline(out, job);
}
