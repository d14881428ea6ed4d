import { nextAfter } from "../../../lib/cadence/cadence.ts";
import { parseWhen } from "../../../lib/cadence/when/parse-when.ts";
import type { Found } from "../../../lib/cli/formats/found.ts";
import type { Neighbour, NeighbourParams } from "../../../lib/cli/formats/neighbours/neighbour.ts";
import { understood } from "../../../lib/put-preview/field-changes.ts";

export const target = { queue: "jobs" };

/** A text, or a value as JSON, as one file of a source. */
export function fileOf(content: unknown, name?: string) {
  const isText = typeof content === "string";
  const text = isText ? content : JSON.stringify(content);
  return { name: name ?? (isText ? "file.yaml" : "file.json"), text, isStdin: false };
}

export function readAll(neighbour: Neighbour, content: unknown, params: Partial<NeighbourParams> = {}) {
  return neighbour.read([fileOf(content)], {
    target,
    timezone: undefined,
    environment: undefined,
    ...params,
  });
}

/** The first schedule of a source, with its differences as one text. */
export function readOne(neighbour: Neighbour, content: unknown, params: Partial<NeighbourParams> = {}) {
  return withTold(readAll(neighbour, content, params).found);
}

export function withTold([found]: readonly Found[]) {
  if (found === undefined) throw new Error("Nothing was read.");
  return { ...found, told: found.differences.join("\n"), fault: found.faults.join("\n") };
}

/** The faults of a schedule's body for the API; none where it could be written as it is. */
export function bodyFaults({ key, body, faults }: Found): readonly string[] {
  if (faults.length > 0) return faults;
  const read = understood(key ?? "", body);
  return read.ok ? [] : read.faults;
}

/** The coming occurrences of a schedule, after an instant. */
export function comingOf({ body }: Found, from: string, count: number): string[] {
  const { when, timezone, dst, startsAt } = body;
  const whens = Array.isArray(when) ? when.map(String) : String(when);
  const parsed = parseWhen(whens, {
    timezone: String(timezone ?? "UTC"),
    now: Date.parse(from),
    key: "a",
    startsAt: typeof startsAt === "string" ? Date.parse(startsAt) : null,
    ...(dst === undefined ? {} : { dst: JSON.parse(JSON.stringify(dst)) }),
  });
  if (!parsed.ok) throw new Error(`${JSON.stringify(when)}: ${parsed.message}`);
  const found: string[] = [];
  let at: number | null = Date.parse(from);
  while (found.length < count) {
    at = nextAfter(parsed.cadence, at);
    if (at === null) break;
    found.push(new Date(at).toISOString());
  }
  return found;
}
