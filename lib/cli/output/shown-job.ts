import type { Job, JobSummary } from "../../client/main.ts";
import { measuredText } from "../times.ts";
import type { Output } from "./output.ts";
import { printable, stateColour } from "./style.ts";
import type { Column } from "./table.ts";
import { showTimeline } from "./timeline.ts";

export function jobColumns({ times }: Output): Column<JobSummary>[] {
  return [
    { title: "ID", text: ({ id }) => id, whole: true },
    { title: "KEY", text: ({ key }) => key },
    { title: "STATE", text: ({ state }) => state, colour: ({ state }) => stateColour(state), whole: true },
    { title: `DUE (${times.zone})`, text: ({ dueAt }) => times.both(dueAt), narrowest: 19 },
    { title: "LATE", text: ({ latenessMs }) => measuredText(latenessMs), align: "right", whole: true },
    { title: "TRIES", text: ({ attempt }) => String(attempt), align: "right", whole: true },
    { title: "WHY", text: whyOf },
  ];
}

/** The error, reason or further state of a job, in one text. */
export function whyOf({ error, reason, cancelling, kind }: JobSummary): string {
  const words = [
    cancelling ? "notified to stop" : "",
    reason ?? "",
    error ?? "",
    kind === "cadence" ? "" : `(${kind})`,
  ];
  return words.filter((each) => each !== "").join(" ");
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
    ["why", printable(whyOf(job))],
    [`due (${times.zone})`, times.both(job.dueAt)],
    ["ready", job.readyAt === null || job.readyAt === job.dueAt ? null : times.both(job.readyAt)],
    [
      "started",
      job.startedAt === null ? null : `${times.both(job.startedAt)}, ${measuredText(job.latenessMs)} late`,
    ],
    [
      "finished",
      job.finishedAt === null ? null : `${times.both(job.finishedAt)}, after ${measuredText(job.durationMs)}`,
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
