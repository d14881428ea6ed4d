import { EXPRESSION_LENGTH_MAX, MEANING_LENGTH_MAX, WHENS_MAX } from "../bounds.ts";
import type { Cadence } from "../cadence-kinds.ts";
import { invalid, quoted, type WhenFault } from "../fault.ts";
import { nearestWord } from "../near.ts";
import { normalForm } from "../normal-form.ts";
import type { ParsedWhen, WhenContext } from "../parsed-when.ts";
import { storedForm } from "../stored-cadence.ts";
import { timeWarnings } from "../time-warnings.ts";
import { skipBlanks } from "./parentheses.ts";
import { nicknames, parseCron } from "./parse-cron.ts";
import { parseEvery, parseRate } from "./parse-every.ts";
import { parseAt, parseEpoch, parseIn } from "./parse-once.ts";
import { cronMeant } from "./spoken.ts";

export type { WhenFault } from "../fault.ts";
export type { ParsedWhen, WhenContext } from "../parsed-when.ts";

const FORMS =
  "Write a cron expression (0 9 * * 1-5), an interval (every 5m) or a time (at 2026-12-01T09:00, in 3h)";

/** Reads the caller's `when`, one text or several. It never throws, for any text. */
export function parseWhen(when: string | readonly string[], context: WhenContext): ParsedWhen | WhenFault {
  return typeof when === "string" ? parseOne(when, context) : parseList(when, context);
}

/** Entries with the same meaning are one, and their order does not matter. */
function parseList(whens: readonly string[], context: WhenContext): ParsedWhen | WhenFault {
  if (whens.length > WHENS_MAX) {
    return { ...invalid(0, `A list takes at most ${WHENS_MAX} whens.`), index: WHENS_MAX };
  }
  const byMeaning = new Map<string, ParsedWhen>();
  const warnings: string[] = [];
  for (const [index, text] of whens.entries()) {
    const parsed = parseOne(text, context);
    if (!parsed.ok) return { ...parsed, index };
    if (parsed.relative && whens.length > 1) {
      return {
        ...invalid(0, "A time counted from now stands alone; in a list write at 2026-12-01T09:00."),
        index,
      };
    }
    const meaning = storedForm(parsed.cadence).expression;
    if (byMeaning.has(meaning)) continue;
    byMeaning.set(meaning, parsed);
    if ([...byMeaning.keys()].join(" | ").length > MEANING_LENGTH_MAX) {
      return { ...invalid(0, "The list is too long from here on; give it to several schedules."), index };
    }
    warnings.push(
      ...parsed.warnings.map((warning) => (whens.length > 1 ? `${quoted(text)}: ${warning}` : warning)),
    );
  }
  const parsed = [...byMeaning.values()];
  const [first] = parsed;
  if (first === undefined) return invalid(0, "A list takes at least one when.");
  if (parsed.length === 1) return { ...first, warnings };
  const inOrder = [...byMeaning].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, { cadence }]) => cadence);
  const cadence: Cadence = { kind: "union", of: inOrder };
  return {
    ok: true,
    cadence,
    relative: false,
    normal: normalForm(cadence),
    description: parsed.map(({ description }) => description).join("; and "),
    warnings,
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
  const bar = when.indexOf("|");
  if (bar >= 0) return invalid(bar, "Several cadences are given as a list, each as a text of its own.");
  const start = when.search(/[^ \t]/);
  if (start < 0) return invalid(when.length, `This is empty. ${FORMS}.`);
  const parsed = parseForm(when.replace(/[ \t]+$/, ""), start, context);
  if (!parsed.ok || parsed.relative) return parsed;
  return { ...parsed, warnings: [...parsed.warnings, ...timeWarnings(parsed.cadence, context)] };
}

function parseForm(text: string, start: number, context: WhenContext): ParsedWhen | WhenFault {
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
      return invalid(start, "An expression takes no zone; set timezone instead.");
    case "":
    case "h":
    case "cron":
      return parseCron(text, start, context);
    default: {
      const expression = nicknames.get(head.toLowerCase());
      if (expression !== undefined && bodyAt === text.length) return parseCron(expression, 0, context);
      return notUnderstood(head, text.slice(start), start);
    }
  }
}

const heads = ["at", "in", "every", "rate", "cron", "@at", "@every", ...nicknames.keys()];

/** A word that is close to a nickname means it only if it stands alone, as a nickname does. */
function notUnderstood(head: string, phrase: string, start: number): WhenFault {
  const isAlone = phrase === head;
  if (nicknames.has(head.toLowerCase())) return invalid(start, `${quoted(head)} stands alone. ${FORMS}.`);
  const near = nearestWord(head, heads) ?? nearestWord(`@${head}`, heads);
  const meant = cronMeant(phrase) ?? (isAlone || !nicknames.has(near ?? "") ? near : null);
  const hint = meant === null ? "." : `; did you mean ${meant}?`;
  return invalid(start, `${quoted(head)} is not understood${hint} ${FORMS}.`);
}
