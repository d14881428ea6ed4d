import type { DescribedOccurrence } from "../cadence/occurrence-notes.ts";
import type { Explanation } from "../plan/explain.ts";
import { jobListView } from "./job-view.ts";

/** What was found out about an instant; JSON leaves out the fields that are undefined, which say nothing of this one. */
export function explanationView(explanation: Explanation) {
  const { key, scheduleId, at, asked, wall, outcome, reason, sentence, occurrence, version, cadence, dueAt } =
    explanation;
  const { note, job, beside, nearest, late, collapsedInto, behind, heldBy, passedOver } = explanation;
  const { backlog, calendar, movedTo, edit, recheck } = explanation;
  return {
    key,
    scheduleId,
    at,
    asked: asked ?? undefined,
    wall,
    outcome,
    reason,
    sentence,
    occurrence,
    version,
    cadence,
    dueAt,
    note: note ?? undefined,
    job: job === null ? undefined : jobListView(job),
    beside: beside.length === 0 ? undefined : beside.map(jobListView),
    late,
    collapsedInto,
    behind,
    heldBy,
    passedOver,
    backlog,
    calendar,
    movedTo,
    edit,
    recheck,
    nearest: { before: nearestView(nearest.before), after: nearestView(nearest.after) },
  };
}

function nearestView(nearest: DescribedOccurrence | null) {
  return nearest === null ? null : { ...nearest, at: new Date(nearest.at) };
}
