import type { Job } from "../../client/main.ts";
import { measuredText } from "../times.ts";
import type { Output } from "./output.ts";

interface Step {
  attempt: string;
  step: string;
  at: string;
  /** Since the step before of the same attempt. */
  afterMs: number | null;
}

/** The steps of a job with their times, attempt by attempt. A job that was never made has none. */
export function showTimeline(out: Output, job: Job): void {
  const { times } = out;
  const steps = [
    ...job.attempts.flatMap((each) => stepsOf(String(each.attempt), each)),
    ...currentSteps(job),
  ];
  if (steps.length === 0) return;
  out.line();
  out.table<Step>(
    [
      { title: "TRY", text: ({ attempt }) => attempt, whole: true },
      { title: "STEP", text: ({ step }) => step, whole: true },
      { title: `AT (${times.zone})`, text: ({ at }) => `${times.wall(at)}.${at.slice(20, 23)}`, whole: true },
      {
        title: "AFTER",
        text: ({ afterMs }) => (afterMs === null ? "" : measuredText(afterMs)),
        align: "right",
        whole: true,
      },
    ],
    steps,
    "",
  );
}

type Times = Partial<Pick<Job["attempts"][number], TimeName>>;
type TimeName = (typeof names)[number][0];

const names = [
  ["plannedAt", "planned"],
  ["sentAt", "sent"],
  ["waitedSince", "waits at its target"],
  ["claimedAt", "claimed"],
  ["targetStartedAt", "target began"],
  ["targetEndedAt", "target ended"],
  ["settledAt", "settled"],
] as const;

function currentSteps({ attempt, current }: Job): Step[] {
  if (current === null) return [];
  const { claimedAt, ...before } = current;
  return stepsOf(String(attempt + 1), claimedAt === null ? before : { ...before, claimedAt });
}

function stepsOf(attempt: string, times: Times): Step[] {
  const known = names
    .flatMap(([name, step]) => {
      const at = times[name];
      return at === null || at === undefined ? [] : [{ attempt, step, at }];
    })
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return known.map((each, index) => {
    const before = known[index - 1];
    return { ...each, afterMs: before === undefined ? null : Date.parse(each.at) - Date.parse(before.at) };
  });
}
