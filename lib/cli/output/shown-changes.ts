import type { Change, Json, Version } from "../../client/main.ts";
import type { Times } from "../times.ts";
import { cut } from "./table.ts";

/** The fields by which a person knows a whole schedule, calendar or token. */
const keyFields = [
  "when",
  "timezone",
  "target",
  "group",
  "tags",
  "name",
  "scope",
  "prefix",
  "dates",
  "weekly",
];

const valueWidth = 60;
const detailWidth = 120;

/** All changes of a version or an audit entry, in one line. */
export function changesText(changes: readonly Change[], isFull: boolean): string {
  return changes.map((change) => changeText(change, isFull)).join("; ");
}

/** The changes of a version; for a hold, its owner, its end and its reason. */
export function versionText(
  { change, changes, detail }: Version,
  { isFull, times }: { isFull: boolean; times: Times },
): string {
  if (changes.length > 0 || (change !== "paused" && change !== "resumed"))
    return changesText(changes, isFull);
  const { owner, reason, until, ended } = isObject(detail) ? detail : {};
  const verb = change === "paused" ? "held by" : ended === true ? "end of the hold of" : "released by";
  const end = typeof until === "string" && change === "paused" ? ` until ${times.wall(until)}` : "";
  return `${verb} ${String(owner ?? "?")}${end}${typeof reason === "string" ? `: ${reason}` : ""}`;
}

function changeText({ path, before, after }: Change, isFull: boolean): string {
  if (before === undefined && after === undefined) return path;
  const of = path === "" ? "" : `${path}: `;
  const from = before ?? null;
  const to = after ?? null;
  if (isFull) return `${of}${JSON.stringify(from)} → ${JSON.stringify(to)}`;
  if (isObject(to) && from === null) return `${of}${keyFieldsText(to)}`;
  if (isObject(from) && to === null) return `${of}${keyFieldsText(from)} → null`;
  return `${of}${cut(JSON.stringify(from), valueWidth)} → ${cut(JSON.stringify(to), valueWidth)}`;
}

/** The details of an audit entry; empty for none. */
export function detailText(detail: Json, isFull: boolean): string {
  const text = JSON.stringify(detail);
  if (detail === null || text === "{}") return "";
  if (isFull || !isObject(detail)) return text;
  const given = Object.entries(detail).filter(([, value]) => value !== null);
  return cut(given.map(([name, value]) => `${name} ${valueText(value)}`).join(", "), detailWidth);
}

function keyFieldsText(value: { [name: string]: Json }): string {
  const shown = keyFields.filter((name) => !isEmpty(value[name]));
  if (shown.length === 0) return cut(JSON.stringify(value), valueWidth);
  const left = Object.values(value).filter((each) => !isEmpty(each)).length - shown.length;
  const fields = shown.map((name) => `${name} ${cut(valueText(value[name] ?? null), valueWidth)}`);
  const more = left === 0 ? [] : [`${left} more (--full)`];
  return [...fields, ...more].join(", ");
}

function valueText(value: Json): string {
  return typeof value === "string" && /^[\w:./ *,@+-]+$/.test(value) ? value : JSON.stringify(value);
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isObject(value: Json): value is { [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
