import { type AwsRule, type AwsSchedule, ruleShape, scheduleShape } from "./eventbridge-shapes.ts";
import { targetParts } from "./eventbridge-target.ts";
import { whenParts } from "./eventbridge-when.ts";
import { type Found, isObject, type JsonObject, type Reading } from "./found.ts";
import { jsonValues } from "./json-values.ts";
import { joined } from "./parts.ts";
import type { SourceFile } from "./source-files.ts";
import { understood } from "./understood.ts";

export interface EventBridgeParams {
  /** The target of schedules whose own target Carillon cannot call. */
  target: JsonObject | undefined;
}

/**
 * Reads the output of `aws scheduler get-schedule` and `list-schedules`, and rules of `aws events`
 * with their targets.
 */
export function readEventBridge(files: readonly SourceFile[], params: EventBridgeParams): Reading {
  const notes: string[] = [];
  const found = files.flatMap((file) => {
    const values = jsonValues(file.text);
    if (values === null)
      return [{ from: file.name, key: null, body: {}, differences: [], faults: ["is not JSON"] }];
    if (values.some((value) => isObject(value) && typeof value["NextToken"] === "string"))
      notes.push(`${file.name} is one page of several (NextToken): the other pages are missing.`);
    return values.flatMap(recordsIn).flatMap((record, index, all) => {
      const from = all.length === 1 ? file.name : `${file.name} [${index}]`;
      return isRule(record) ? foundRule(record, from, params) : [foundSchedule(record, from, params)];
    });
  });
  return { found, notes };
}

/** Whether a JSON value is output of AWS. */
export function isOfEventBridge(value: unknown): boolean {
  return recordsIn(value).some(
    (record) =>
      isObject(record) &&
      typeof record["Name"] === "string" &&
      ["ScheduleExpression", "Target", "GroupName", "EventPattern"].some((name) => name in record),
  );
}

function recordsIn(value: unknown): unknown[] {
  if (Array.isArray(value)) return value.flatMap(recordsIn);
  if (!isObject(value)) return [value];
  const { Schedules: schedules, Rules: rules } = value;
  if (Array.isArray(schedules)) return schedules;
  return Array.isArray(rules) ? rules : [value];
}

function isRule(record: unknown): boolean {
  if (!isObject(record)) return false;
  const { Arn: arn } = record;
  if (typeof arn === "string") return arn.includes(":events:");
  return "EventBusName" in record || "EventPattern" in record || "Targets" in record;
}

function foundSchedule(record: unknown, from: string, params: EventBridgeParams): Found {
  const read = understood<AwsSchedule>(record, scheduleShape, from);
  if (!read.ok) return read.found;
  const schedule = read.value;
  const { Name: name, GroupName: group, ScheduleExpression, Target } = schedule;
  const isOfGroup = group !== "default";
  const key = isOfGroup ? `${group}:${name}` : name;
  if (ScheduleExpression == null || Target == null) {
    const fault = `list-schedules has neither its time nor its target's input: use aws scheduler get-schedule --name ${name} --group-name ${group}`;
    return { from, key, body: {}, differences: [], faults: [fault] };
  }
  const parts = joined(whenParts(schedule), targetParts(Target, params.target));
  const isDeleted = schedule.ActionAfterCompletion === "DELETE";
  return {
    from,
    key,
    body: {
      ...parts.body,
      ...(isOfGroup ? { group } : {}),
      ...stateOf(schedule),
      ...(isDeleted ? { deleteOnEnd: true } : {}),
    },
    differences: [
      ...parts.differences,
      ...(schedule.KmsKeyArn == null
        ? []
        : ["KmsKeyArn: the payload is encrypted like the database, not with this key"]),
    ],
    faults: parts.faults,
  };
}

/** A rule may have several targets; each becomes a schedule of its own. */
function foundRule(record: unknown, from: string, params: EventBridgeParams): Found[] {
  const read = understood<AwsRule>(record, ruleShape, from);
  if (!read.ok) return [read.found];
  const rule = read.value;
  const { Name: name, ScheduleExpression, Targets } = rule;
  const nothing = { from, key: name, body: {}, differences: [] };
  if (ScheduleExpression == null)
    return [{ ...nothing, faults: ["runs on events, not at times: use a watch instead"] }];
  if (Targets == null || Targets.length === 0) {
    const fault = `list-rules has no targets: add them as \`Targets\` from aws events list-targets-by-rule --rule ${name}`;
    return [{ ...nothing, faults: [fault] }];
  }
  return Targets.map((target) => {
    const parts = joined(whenParts(rule), targetParts(target, params.target));
    return {
      from,
      key: Targets.length === 1 ? name : `${name}:${target.Id ?? target.Arn.split(":").at(-1)}`,
      ...parts,
      body: { ...parts.body, ...stateOf(rule) },
    };
  });
}

function stateOf({ State, Description }: Pick<AwsSchedule, "State" | "Description">): JsonObject {
  return {
    ...(State === "DISABLED" ? { paused: true } : {}),
    ...(Description == null || Description === "" ? {} : { description: Description }),
  };
}
