import type { Json } from "../../../client/main.ts";
import { type Found, isObject, type Reading } from "../found.ts";
import { joined, type Parts } from "../parts.ts";
import type { SourceFile } from "../source-files.ts";
import { understood } from "../understood.ts";
import { impossible, keyOf, type Neighbour, type NeighbourParams, readEach } from "./neighbour.ts";
import { temporalInput } from "./temporal-input.ts";
import { temporalPolicies } from "./temporal-policies.ts";
import { scheduleShape, type TemporalSchedule } from "./temporal-shapes.ts";
import { temporalTimes } from "./temporal-when.ts";

/**
 * Reads the output of `temporal schedule describe -o json`, one schedule or several, each perhaps
 * with its `scheduleId`, which that output does not have.
 */
export const temporal: Neighbour = {
  isOf: (document) => recordsIn(document).some((record) => isDescribed(record) || isListed(record)),
  read: (files: readonly SourceFile[], params: NeighbourParams): Reading => ({
    found: readEach(files, (document, from) => {
      const records = recordsIn(document);
      return records.map((record, index) =>
        foundSchedule(record, records.length === 1 ? from : `${from} [${index}]`, params),
      );
    }),
    notes: [],
  }),
};

function recordsIn(document: unknown): unknown[] {
  return Array.isArray(document) ? document : [document];
}

function isDescribed(record: unknown): boolean {
  return isObject(record) && isObject(record["schedule"]) && "spec" in record["schedule"];
}

function isListed(record: unknown): boolean {
  return isObject(record) && "scheduleId" in record && "info" in record && !("schedule" in record);
}

function foundSchedule(record: unknown, from: string, params: NeighbourParams): Found {
  if (isListed(record)) {
    const id = isObject(record) ? String(record["scheduleId"]) : "";
    const fault = `schedule list has neither its action nor its policies: use temporal schedule describe --schedule-id ${id} -o json`;
    return impossible(from, keyOf(id), fault);
  }
  const read = understood<TemporalSchedule>(record, scheduleShape, from);
  if (!read.ok) return read.found;
  const { scheduleId, schedule } = read.value;
  const workflowId = schedule.action?.startWorkflow?.workflowId;
  const id = scheduleId ?? workflowId;
  if (id === undefined || id === "")
    return impossible(from, null, "describe prints no id: put `scheduleId` beside `schedule`");
  const parts = joined(
    temporalTimes(schedule.spec),
    { body: { target: params.target } },
    actionPart(schedule),
    temporalPolicies(schedule, params.target),
    statePart(schedule),
    {
      differences:
        scheduleId === undefined
          ? ["describe prints no schedule id, so its key is the id of its workflow"]
          : [],
    },
  );
  return { from, key: keyOf(id), ...parts };
}

function actionPart({ action }: TemporalSchedule["schedule"]): Partial<Parts> {
  const start = action?.startWorkflow;
  if (start?.workflowType === undefined)
    return { faults: ["it starts no workflow: no other action can be imported"] };
  const input = temporalInput(start.input);
  if (input === null) return { faults: ["its input is encoded in a way that is not JSON"] };
  const payload: { [name: string]: Json } = {
    workflowType: start.workflowType.name,
    ...(start.workflowId === undefined ? {} : { workflowId: start.workflowId }),
    ...(start.taskQueue === undefined ? {} : { taskQueue: start.taskQueue.name }),
    input,
  };
  const isMarked = start.memo != null || start.searchAttributes != null;
  return {
    body: { payload },
    differences: [
      "Carillon starts no workflow: the job goes to the target with the workflow's type, id, task queue and input, and its receiver must start it",
      start.retryPolicy == null
        ? "Temporal starts it once; Carillon retries a job whose target fails, with up to five attempts (`retry`): start the workflow under an id made of the occurrence"
        : "its retryPolicy is one of the workflow and is left out; `retry` is about the start",
      ...(isMarked ? ["its memo and search attributes are left out"] : []),
    ],
  };
}

function statePart({ state }: TemporalSchedule["schedule"]): Partial<Parts> {
  const { notes, paused, limitedActions, remainingActions } = state;
  if (limitedActions && remainingActions === 0) return { faults: ["it has no actions left"] };
  return {
    body: {
      ...(paused ? { paused: true } : {}),
      ...(notes === "" ? {} : { description: notes }),
      ...(limitedActions ? { maxFires: remainingActions } : {}),
    },
    differences: limitedActions
      ? [
          `it has ${remainingActions} actions left, which are its \`maxFires\`: jobs that \`overlap\` skips count here, and not in Temporal`,
        ]
      : [],
  };
}
