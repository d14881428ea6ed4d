import { parseWhen } from "../../cadence/when/parse-when.ts";
import type { ScheduleBody } from "../../schedule/shape/schedule-body.ts";
import type { Found } from "../formats/found.ts";

// The part of a plan for which no API is needed.

/** The keys that occur more than once, with the places of each. */
export function keysTwice(found: readonly Found[]): ReadonlyMap<string, readonly string[]> {
  const places = new Map<string, string[]>();
  for (const { key, from } of found) if (key !== null) places.set(key, [...(places.get(key) ?? []), from]);
  return new Map([...places].filter(([, each]) => each.length > 1));
}

export const twiceText = (places: readonly string[]): string =>
  `its key occurs ${places.length} times: ${places.join(", ")}`;

export function withTag(body: Found["body"], tag: string): Found["body"] {
  const { tags = [] } = body;
  // A value that is not a list stays as it is, so that its fault is reported.
  return { ...body, tags: Array.isArray(tags) ? [...tags, tag] : tags };
}

export function momentOf(
  { when, timezone, startsAt, endsAt, dst }: ScheduleBody,
  key: string,
  now: number,
): { isOver: boolean; isRelative: boolean } {
  const context = { timezone, now, key, dst, startsAt: startsAt === null ? null : Date.parse(startsAt) };
  const parsed = parseWhen(when, context);
  return {
    isOver:
      (!parsed.ok && parsed.kind === "past" && typeof when === "string") ||
      (endsAt !== null && Date.parse(endsAt) <= now),
    isRelative: parsed.ok && parsed.relative,
  };
}
