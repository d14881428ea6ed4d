import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { SampleEvents } from "./sample-events.ts";

/** The messages of a release, one of each kind. */
export interface ReleasedEvents {
  readonly version: string;
  readonly samples: SampleEvents;
}

export const releasedEventsFile = new URL("../../fixtures/released-events.json", import.meta.url);

const file = z.object({ version: z.string(), samples: z.record(z.string(), z.unknown()) });

export function readReleasedEvents(text: string = readFileSync(releasedEventsFile, "utf8")): ReleasedEvents {
  return file.parse(JSON.parse(text));
}

/** The text of the file, with a line for each sample. */
export function releasedEventsText({ version, samples }: ReleasedEvents): string {
  const lines = Object.entries(samples).map(
    ([name, sample]) => `  ${JSON.stringify(name)}: ${JSON.stringify(sample)}`,
  );
  return `{\n"version": ${JSON.stringify(version)},\n"samples": {\n${lines.join(",\n")}\n}\n}\n`;
}

/**
 * Members whose value follows from the moment of sending, from the version, or from the whole body, which may
 * get members. Only their type is compared.
 */
const byType: ReadonlySet<string> = new Set([
  "generatedat",
  "content-length",
  "user-agent",
  "webhook-signature",
  "webhook-timestamp",
]);

/** Members of the released messages that the present ones lack or change. New members are no break. */
export function eventBreaks(released: SampleEvents, present: SampleEvents): { id: string; why: string }[] {
  return Object.entries(released).flatMap(([id, sample]) =>
    memberBreaks(sample, present[id], id).map((why) => ({ id, why })),
  );
}

function memberBreaks(before: unknown, after: unknown, path: string): string[] {
  if (after === undefined) return [`${path} is no longer there`];
  if (typeOf(before) !== typeOf(after)) return [`${path} is ${typeOf(after)} in place of ${typeOf(before)}`];
  if (byType.has(path.split("/").at(-1) ?? "")) return [];
  if (!isObject(before) || !isObject(after))
    return isDeepStrictEqual(before, after)
      ? []
      : [`${path} is ${JSON.stringify(after)} in place of ${JSON.stringify(before)}`];
  return Object.entries(before).flatMap(([name, value]) =>
    memberBreaks(value, after[name], `${path}/${name}`),
  );
}

/** An object or a list, whose members are compared one by one. */
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return value === null ? "null" : typeof value;
}
