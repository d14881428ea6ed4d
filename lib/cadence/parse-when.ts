import { readAtTime } from "./at-time.ts";
import { EXPRESSION_LENGTH_MAX, FURTHEST_MS, INTERVAL_MIN_MS, PAST_GRACE_MS } from "./bounds.ts";
import { type Cadence, type Dst, nextAfter } from "./cadence.ts";
import { isoInstant } from "./civil.ts";
import { readCronFields } from "./cron-fields.ts";
import { describeCron } from "./describe-cron.ts";
import { describeDuration, readDuration } from "./duration.ts";
import { invalid, quoted, unsupported, type WhenFault } from "./fault.ts";
import { normalForm } from "./normal-form.ts";
import { zoneNamed } from "./zone-spans.ts";
import { instantOfWall } from "./zoned-search.ts";

export type { WhenFault } from "./fault.ts";

export interface ParsedWhen {
  ok: true;
  cadence: Cadence;
  /** Counted from now (`in 3d`): putting it again means a new instant. */
  relative: boolean;
  /** The `cadence` of responses. */
  normal: string;
  /** Plain English, to stand after "runs". */
  description: string;
  /** What may surprise, in whole sentences. */
  warnings: string[];
}

export interface WhenContext {
  /** A canonical name, as `canonicalTimezone` gives it. */
  timezone: string;
  now: number;
  /** The schedule's key, from which what is spread by key will take its place. */
  key: string;
  startsAt?: number | null;
  dst?: Dst | null;
}

const FORMS =
  "Write a cron expression (0 9 * * 1-5), an interval (every 5m) or a time (at 2026-12-01T09:00, in 3h)";

/** Reads what a caller wrote as `when`. It never throws, whatever the text. */
export function parseWhen(when: string | readonly string[], context: WhenContext): ParsedWhen | WhenFault {
  if (typeof when === "string") return parseOne(when, context);
  const parsed: ParsedWhen[] = [];
  for (const [index, text] of when.entries()) {
    const one = parseOne(text, context);
    if (!one.ok) return { ...one, index };
    parsed.push(one);
  }
  const [first] = parsed;
  if (first === undefined) return invalid(0, "A list of whens holds at least one.");
  if (parsed.length === 1) return first;
  const cadence: Cadence = { kind: "union", of: parsed.map((one) => one.cadence) };
  return {
    ok: true,
    cadence,
    relative: false,
    normal: normalForm(cadence),
    description: parsed.map((one) => one.description).join("; and "),
    warnings: [],
  };
}

function parseOne(when: string, context: WhenContext): ParsedWhen | WhenFault {
  if (when.length > EXPRESSION_LENGTH_MAX) {
    return invalid(EXPRESSION_LENGTH_MAX, `A when has at most ${EXPRESSION_LENGTH_MAX} characters.`);
  }
  const foreign = when.search(/[^\t\x20-\x7e]/);
  if (foreign >= 0) {
    return invalid(
      foreign,
      "Only plain ASCII is understood here; the only blanks are the space and the tab.",
    );
  }
  const start = when.search(/[^ \t]/);
  if (start < 0) return invalid(when.length, `This is empty. ${FORMS}.`);
  const text = when.replace(/[ \t]+$/, "");
  const [, head = ""] = /^(@?[A-Za-z]*)/.exec(text.slice(start)) ?? [];
  const bodyAt = skipBlanks(text, start + head.length);

  switch (head.toLowerCase()) {
    case "at":
      return parseAt(text, bodyAt, context);
    case "@at":
      return parseEpoch(text, bodyAt, context);
    case "in":
      return parseIn(text, bodyAt, context);
    case "every":
    case "@every":
      return parseEvery(text, bodyAt, context);
    case "rate":
      return parseRate(text, bodyAt, context);
    case "tz":
    case "cron_tz":
      return invalid(start, "The zone does not belong into the expression: give it as timezone.");
    case "":
    case "h":
    case "cron":
      return parseCron(text, start, context);
    default: {
      const expression = nicknames.get(head.toLowerCase());
      if (expression !== undefined && bodyAt === text.length) return parseCron(expression, 0, context);
      return invalid(start, `${quoted(head)} is not understood. ${FORMS}.`);
    }
  }
}

/** What stands in the parentheses of `rate(…)` and `at(…)`: the text up to the closing one, which must be the last character. */
function parenthesised(text: string, openAt: number): { ok: true; inner: string } | WhenFault {
  if (text.charAt(openAt) !== "(") return invalid(openAt, "A ( is missing here.");
  const closeAt = text.indexOf(")", openAt);
  if (closeAt < 0) return invalid(text.length, "The closing ) is missing.");
  if (closeAt < text.length - 1) return invalid(closeAt + 1, "Nothing can follow the closing ).");
  return { ok: true, inner: text.slice(0, closeAt).replace(/[ \t]+$/, "") };
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (text.charAt(at) === " " || text.charAt(at) === "\t") at += 1;
  return at;
}

function parseAt(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  if (text.charAt(bodyAt) === "(") {
    const time = parenthesised(text, bodyAt);
    return time.ok ? parseAt(time.inner, skipBlanks(text, bodyAt + 1), context) : time;
  }
  const time = readAtTime(text, bodyAt);
  if (!time.ok) return time;
  if (time.offset !== null) return once(time.wall - time.offset, bodyAt, context);
  const at = instantOfWall(zoneNamed(context.timezone), time.wall);
  if (at === null) return invalid(bodyAt, `${context.timezone} has left this day out of its calendar.`);
  return once(at, bodyAt, context);
}

function parseEpoch(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  if (!/^\d{1,12}$/.test(text.slice(bodyAt))) {
    return invalid(bodyAt, "@at takes whole seconds since 1970, as in @at 1647067401.");
  }
  return once(Number(text.slice(bodyAt)) * 1_000, bodyAt, context);
}

function once(at: number, position: number, { now }: WhenContext): ParsedWhen | WhenFault {
  if (at < now - PAST_GRACE_MS) {
    return { ok: false, kind: "past", message: `${isoInstant(at)} is over.`, position };
  }
  if (at > now + FURTHEST_MS) return tooFar(position);
  return parsedOnce(at, false);
}

function parsedOnce(at: number, relative: boolean): ParsedWhen {
  const cadence: Cadence = { kind: "once", at };
  const normal = normalForm(cadence);
  return { ok: true, cadence, relative, normal, description: `once, ${normal}`, warnings: [] };
}

function tooFar(position: number): WhenFault {
  return invalid(position, "This is more than 100 years ahead.");
}

function parseIn(text: string, bodyAt: number, { now }: WhenContext): ParsedWhen | WhenFault {
  const duration = readDuration(text, bodyAt);
  if (!duration.ok) return duration;
  return parsedOnce(now + duration.ms, true);
}

function parseEvery(text: string, bodyAt: number, context: WhenContext): ParsedWhen | WhenFault {
  const calendar = /(?<![a-z])(?:days?|weeks?|months?|years?)(?![a-z])/i.exec(text.slice(bodyAt));
  if (calendar) {
    return unsupported(
      bodyAt + calendar.index,
      "Intervals by the calendar (every 1 month, every 2 weeks) are not available yet; exact ones are, as in every 24h or every 7d.",
    );
  }
  return interval(text, bodyAt, context);
}

/** `rate(1 day)` is 24 hours, as on AWS. */
function parseRate(text: string, openAt: number, context: WhenContext): ParsedWhen | WhenFault {
  const rate = parenthesised(text, openAt);
  return rate.ok ? interval(rate.inner, openAt + 1, context) : rate;
}

function interval(text: string, bodyAt: number, { now }: WhenContext): ParsedWhen | WhenFault {
  const duration = readDuration(text, bodyAt);
  if (!duration.ok) return duration;
  if (duration.ms < INTERVAL_MIN_MS) return invalid(bodyAt, "An interval is at least one second.");
  const cadence: Cadence = { kind: "interval", everyMs: duration.ms, firstAt: now + duration.ms };
  return {
    ok: true,
    cadence,
    relative: false,
    normal: normalForm(cadence),
    description: `every ${describeDuration(duration.ms).replace(/^1 (\w+)$/, "$1")}`,
    warnings: [],
  };
}

const nicknames: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

function parseCron(text: string, start: number, { timezone, now }: WhenContext): ParsedWhen | WhenFault {
  const fields = readCronFields(text.slice(start), start);
  if (!fields.ok) return fields;
  const cadence: Cadence = { kind: "cron", expression: fields.normal, timezone };
  if (fields.years !== null) {
    const next = nextAfter(cadence, now);
    if (next === null) return { ok: false, kind: "past", message: "Its years are over.", position: start };
    if (next > now + FURTHEST_MS) return tooFar(start);
  }
  return {
    ok: true,
    cadence,
    relative: false,
    normal: normalForm(cadence),
    description: `${describeCron(fields)}, ${timezone}`,
    warnings: [],
  };
}
