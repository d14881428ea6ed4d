import type { Json } from "../../../client/json.ts";
import { puttable } from "../../../client/puttable.ts";
import type { Schedule } from "../../../client/schedule.ts";
import { scheduleDefaults } from "../../../client/schedule-defaults.ts";
import { timeFields } from "../../../client/time-fields.ts";
import { isObject, type JsonObject } from "./json-text.ts";
import { differingFields, sameJson } from "./same-json.ts";

/**
 * The text of a stored schedule as it is edited: without what the server fills in. Putting it back
 * changes nothing.
 */
export function documentOf(schedule: Schedule): string {
  const { key: _, ...body } = puttable(schedule) as { [name: string]: Json };
  const kept = Object.entries(body).flatMap(([name, value]): [string, Json][] => {
    // The spread of a pulse has a default that depends on its interval.
    if (name === "spread" && schedule.delivery === "pulse") return [[name, value]];
    const rest = withoutDefault(value, scheduleDefaults[name]);
    return rest === undefined ? [] : [[name, rest]];
  });
  return JSON.stringify(Object.fromEntries(kept), null, 2);
}

function withoutDefault(value: Json, byDefault: Json | undefined): Json | undefined {
  if (byDefault === undefined) return value;
  if (sameJson(value, byDefault)) return undefined;
  if (!isObject(value) || !isObject(byDefault)) return value;
  return Object.fromEntries(Object.entries(value).filter(([name, each]) => !sameJson(each, byDefault[name])));
}

/**
 * The text that the editor of a new schedule begins with. It names the zone in which its author reads all
 * times: the default of the API is another one for most, and would not be seen.
 */
export function newDocument({ key, timezone }: { key: string | undefined; timezone: string }): string {
  const named = key === undefined ? {} : { key };
  return JSON.stringify({ ...named, when: "", timezone, target: { queue: "" } }, null, 2);
}

/** With another delivery, the default of the spread may differ. */
const timingFields: ReadonlySet<string> = new Set([...timeFields, "delivery"]);

/** Whether an edit changes when a schedule runs. If not, an interval keeps counting from its start. */
export function movesTimes(before: JsonObject, after: JsonObject): boolean {
  const isRelative = typeof after["when"] === "string" && /^\s*in\s/i.test(after["when"]);
  return isRelative || hasOtherTimes(before, after);
}

/** Whether two documents differ in a field that says when a schedule runs. */
export const hasOtherTimes = (one: JsonObject, other: JsonObject): boolean =>
  differingFields(one, other).some((name) => timingFields.has(name));
