import { type AtTime, readAtTime } from "../at-time.ts";
import { FURTHEST_MS, PAST_GRACE_MS } from "../bounds.ts";
import type { Cadence } from "../cadence-kinds.ts";
import { readDuration } from "../duration.ts";
import { invalid, tooFar, type WhenFault } from "../fault.ts";
import { normalForm } from "../normal-form.ts";
import type { ParsedWhen, WhenContext } from "../parsed-when.ts";
import { isoInstant } from "../zone/civil.ts";
import { dateText, timeText } from "../zone/wall-text.ts";
import { zoneNamed } from "../zone/zone-spans.ts";
import { instantOfWall, wallTimeIn } from "../zone/zoned-search.ts";
import { parenthesised, skipBlanks } from "./parentheses.ts";

/**
 * `at 2026-12-01T09:00`, `at(2026-12-01T09:00)`: the time in the zone, unless it names its offset.
 */
export function parseAt(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  if (text.charAt(bodyAt) === "(") {
    const time = parenthesised(text, bodyAt);
    return time.ok ? parseAt(time.inner, skipBlanks(text, bodyAt + 1), context) : time;
  }
  const time = readAtTime(text, bodyAt);
  if (!time.ok) return time;
  return time.offset === null
    ? atWall(time, bodyAt, context)
    : once(time.wall - time.offset, bodyAt, context);
}

function atWall({ wall }: AtTime, position: number, context: WhenContext): ParsedWhen | WhenFault {
  const { timezone } = context;
  const dst = context.dst ?? {};
  const zone = zoneNamed(timezone);
  const at = instantOfWall(zone, wall, dst);
  const time = wallTimeIn(zone, wall);
  const written = `${dateText(wall)} ${timeText(wall)}`;
  const missing = `${written} does not exist in ${timezone}`;
  if (at === null) {
    const why = time.kind === "gap" && time.long ? "the zone has left out this day" : 'dst.gap is "skip"';
    return invalid(position, `${missing} and ${why}, so this never runs.`);
  }
  const parsed = once(at, position, context);
  if (!parsed.ok) return parsed;
  if (time.kind === "gap") {
    const then = timeText(at + zone.spanAt(at).offset);
    return { ...parsed, warnings: [...parsed.warnings, `${missing}; it runs at ${then} then.`] };
  }
  if (time.at.length < 2) return parsed;
  const pass = dst.overlap === "last" ? "last" : "first";
  const aside = dst.overlap === "both" ? ", since a time runs once" : "";
  return {
    ...parsed,
    warnings: [
      ...parsed.warnings,
      `${written} comes twice in ${timezone}; it runs on the ${pass} pass${aside}.`,
    ],
  };
}

/** `@at 1800000000` */
export function parseEpoch(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  if (!/^\d{1,12}$/.test(text.slice(bodyAt))) {
    return invalid(bodyAt, "@at takes whole seconds since 1970, as in @at 1647067401.");
  }
  return once(Number(text.slice(bodyAt)) * 1_000, bodyAt, context);
}

function once(at: number, position: number, { now }: WhenContext): ParsedWhen | WhenFault {
  if (at < now - PAST_GRACE_MS) {
    return { ok: false, kind: "past", message: `${isoInstant(at)} is in the past.`, position };
  }
  if (at > now + FURTHEST_MS) return tooFar(position);
  return parsedOnce(at, false);
}

/** `in 3d` */
export function parseIn(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  const duration = readDuration(text, bodyAt);
  if (!duration.ok) return duration;
  if (context.startsAt != null) {
    return invalid(
      bodyAt,
      "A time counted from now does not go with startsAt; write when it runs, as in at 2026-12-01T09:00.",
    );
  }
  return parsedOnce(context.now + duration.ms, true);
}

function parsedOnce(at: number, relative: boolean): ParsedWhen {
  const cadence: Cadence = { kind: "once", at };
  const normal = normalForm(cadence);
  return { ok: true, cadence, relative, normal, description: `once, ${normal}`, warnings: [] };
}
