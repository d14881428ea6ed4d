import { invalid, quoted, type WhenFault } from "../fault.ts";
import { nearestWord } from "../near.ts";
import { placeByKey } from "../spread-by-key.ts";
import { allowedIn, type FieldShape, sizeOf } from "./cron-shape.ts";
import { readSpecialDay, type SpecialDay } from "./cron-special.ts";

export interface Word {
  text: string;
  /** Its position in the caller's text. */
  at: number;
}

export interface Field {
  ok: true;
  /** In rising order, each once. */
  values: readonly number[];
  specials: readonly SpecialDay[];
  /** True for exactly `*` or `?`: the field does not restrict. */
  open: boolean;
  /** True if the field contains a `*` or a `/`. */
  stepped: boolean;
}

/** `key` is the key of the schedule; it determines the value of an `H`. */
export function readField(word: Word, shape: FieldShape, key: string): Field | WhenFault {
  if (word.text === "?" && shape.specials !== "none") {
    return { ok: true, values: [], specials: [], open: true, stepped: false };
  }
  const values = new Set<number>();
  const specials: SpecialDay[] = [];
  let at = word.at;
  for (const text of word.text.split(",")) {
    const special = readSpecialDay(text, at, shape);
    if (special !== null && "ok" in special) return special;
    if (special !== null) {
      specials.push(special);
    } else {
      const item = { text, at };
      const fault = /^h/i.test(text)
        ? readSpread(item, shape, { key, values })
        : readItem(item, shape, values);
      if (fault !== null) return fault;
    }
    at += text.length + 1;
  }
  return {
    ok: true,
    values: [...values].sort((a, b) => a - b),
    specials,
    open: word.text === "*",
    stepped: /[*/]/.test(word.text),
  };
}

/**
 * Reads one item of a list: `*`, a value or a range, each perhaps with a step. Adds its values to
 * `values`.
 */
function readItem({ text, at }: Word, shape: FieldShape, values: Set<number>): WhenFault | null {
  const [whole = "", base = "", slash, width = ""] =
    /^(\*|[0-9A-Za-z]+(?:-[0-9A-Za-z]*)?)(?:(\/)(.*))?/.exec(text) ?? [];
  if (whole === "" || whole.length < text.length)
    return notUnderstood({ text, at: at + whole.length }, shape);
  const span = readSpan({ text: base, at }, shape, slash !== undefined);
  if (!span.ok) return span;
  const step = slash === undefined ? 1 : readStep({ text: width, at: at + base.length + 1 }, shape);
  if (typeof step !== "number") return step;
  for (let written = span.from; written <= span.to; written += step) values.add(shape.valueOf(written));
  return null;
}

const SPREAD = /^h(?:\(([^)]*)(\))?)?(?:(\/)(.*))?/i;

/**
 * Reads `H`, `H(a-b)`, `H/n` and `H(a-b)/n`: one value, or values at even distances, from a start
 * that the key determines.
 */
function readSpread(
  word: Word,
  shape: FieldShape,
  { key, values }: { key: string; values: Set<number> },
): WhenFault | null {
  const { text, at } = word;
  const [whole = "", range, closing, slash, width = ""] = SPREAD.exec(text) ?? [];
  if (shape.spread === null) return notUnderstood(word, shape);
  if (range !== undefined && closing === undefined) {
    return invalid(at + text.length, `The closing ) of H(…) is missing; it takes one range, as in H(0-29).`);
  }
  if (whole.length < text.length) return notUnderstood({ text, at: at + whole.length }, shape);
  if (range !== undefined && !/^[0-9A-Za-z]+-[0-9A-Za-z]+$/.test(range)) {
    return invalid(at + 2, "H(…) takes a range, as in H(0-29).");
  }
  const anywhere: Span = { ok: true, ...shape.spread };
  const span = range === undefined ? anywhere : readSpan({ text: range, at: at + 2 }, shape, false);
  if (!span.ok) return span;
  const { from, to } = span;
  const size = to - from + 1;
  const stepAt = at + text.length - width.length;
  const step = slash === undefined ? size : readStep({ text: width, at: stepAt }, shape, size);
  if (typeof step !== "number") return step;
  for (let written = from + placeByKey(key, shape.name, step); written <= to; written += step) {
    values.add(shape.valueOf(written));
  }
  return null;
}

interface Span {
  ok: true;
  from: number;
  to: number;
}

/** Reads `*`, `a` or `a-b`. A single value with a step runs to the end of the field. */
function readSpan({ text, at }: Word, shape: FieldShape, stepFollows: boolean): Span | WhenFault {
  if (text === "*") return { ok: true, from: shape.min, to: shape.last };
  const [fromText = "", toText] = text.split("-");
  const from = readValue({ text: fromText, at }, shape);
  if (typeof from !== "number") return from;
  if (toText === undefined) {
    if (!stepFollows) return { ok: true, from, to: from };
    return { ok: true, from: from > shape.last ? shape.min : from, to: shape.last };
  }
  const end = readValue({ text: toText, at: at + fromText.length + 1 }, shape);
  if (typeof end !== "number") return end;
  // Sunday can end a week as well as begin it: fri-sun is 5-7.
  const sundayLast = shape.max > shape.last && from > 0 && toText.toLowerCase() === "sun";
  const to = sundayLast ? shape.max : end;
  if (to >= from) return { ok: true, from, to };
  return invalid(
    at,
    `The ${shape.name} range ${quoted(text)} ends before it begins; write it as two ranges.`,
  );
}

function readValue({ text, at }: Word, shape: FieldShape): number | WhenFault {
  const named = shape.names.indexOf(text.toLowerCase());
  if (named >= 0) return named + shape.namesFrom;
  if (!/^\d+$/.test(text)) return notUnderstood({ text, at }, shape);
  const value = Number(text);
  if (value >= shape.min && value <= shape.max) return value;
  return invalid(at, `${quoted(text)} is out of range: the ${shape.name} field takes ${allowedIn(shape)}.`);
}

function readStep({ text, at }: Word, shape: FieldShape, most: number = sizeOf(shape)): number | WhenFault {
  const step = /^\d+$/.test(text) ? Number(text) : 0;
  if (step >= 1 && step <= most) return step;
  return invalid(at, `A step in the ${shape.name} field is a whole number from 1 to ${most}, as in */2.`);
}

function notUnderstood({ text, at }: Word, shape: FieldShape): WhenFault {
  const meant = nearestName(text, shape);
  const hint = meant === null ? "" : `; did you mean ${meant}?`;
  const what = text === "" ? "Something is missing here" : `${quoted(text)} is not understood${hint}`;
  return invalid(
    at,
    `${what}${hint === "" ? ": the" : " The"} ${shape.name} field takes ${allowedIn(shape)}.`,
  );
}

/** Names have three letters: `monday` and `sept` mean the names that they begin with. */
function nearestName(text: string, { names }: FieldShape): string | null {
  if (!/^[A-Za-z]+$/.test(text)) return null;
  const lower = text.toLowerCase();
  return names.find((name) => lower.startsWith(name)) ?? nearestWord(text, names);
}

export interface DayField {
  values: readonly number[];
  specials: readonly SpecialDay[];
}

/** A cron expression, read and checked: the values of each field in rising order. */
export interface CronFields {
  ok: true;
  seconds: readonly number[];
  minutes: readonly number[];
  hours: readonly number[];
  /** 1–31; null if the field does not restrict. */
  days: DayField | null;
  months: readonly number[];
  /** 0 (Sunday) – 6; null if the field does not restrict. */
  weekdays: DayField | null;
  /** True if only days count that both day fields match; otherwise one of the two is enough. */
  needsBoth: boolean;
  /** Only AWS expressions can restrict it. */
  years: readonly number[] | null;
  /**
   * True without `*` or `/` in second, minute and hour. Clock changes treat such an expression
   * differently.
   */
  fixedTime: boolean;
  /** One text for all spellings of the same meaning. */
  normal: string;
}
