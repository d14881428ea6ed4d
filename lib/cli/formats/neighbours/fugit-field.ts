/** A field of a cron expression of the Ruby library fugit. */
export interface FugitField {
  first: number;
  last: number;
  names: readonly string[];
  kind: "time" | "hour" | "day" | "month" | "weekday";
}

const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const sixty: FugitField = { first: 0, last: 59, names: [], kind: "time" };

/** Second, minute, hour, day of the month, month and day of the week. */
export const fugitFields: readonly FugitField[] = [
  sixty,
  sixty,
  { first: 0, last: 23, names: [], kind: "hour" },
  { first: 1, last: 31, names: [], kind: "day" },
  { first: 1, last: 12, names: monthNames, kind: "month" },
  { first: 0, last: 6, names: weekdayNames, kind: "weekday" },
];

/** The field in the syntax of Carillon, or why it has none. */
export type Translated = { ok: true; text: string; isRandom: boolean } | { ok: false; fault: string };

export function translateField(text: string, field: FugitField): Translated {
  const items: string[] = [];
  for (const item of text.split(",").filter((each) => each !== "")) {
    const translated = translateItem(item, field);
    if (translated === null)
      return { ok: false, fault: `\`${item}\` of fugit has no equal here, or is not understood` };
    items.push(translated);
  }
  const restricting = items.filter((item) => item !== "*");
  // In the days of the week fugit passes over a `*` in a list; elsewhere it opens the whole field.
  const isOpen = field.kind === "weekday" ? restricting.length === 0 : restricting.length < items.length;
  const isRandom = items.some((item) => item.startsWith("H"));
  return { ok: true, text: isOpen ? "*" : restricting.join(","), isRandom };
}

function translateItem(item: string, field: FugitField): string | null {
  const [whole, base = "", stepText] = /^([^/]*?)(?:\/(\d\d?))?$/.exec(item) ?? [];
  if (whole === undefined) return null;
  const step = stepText === undefined ? null : Number(stepText);
  if (step === 0) return null;
  if (base === "*" || (base === "" && step !== null)) return everyText(step, field);
  if (base.includes("~")) return step === null ? randomText(base, field) : null;
  return (step === null ? specialText(base, field) : null) ?? rangeText(base, step, field);
}

function everyText(step: number | null, { first, last, kind }: FugitField): string {
  // A step of 1 counts as a restriction to fugit in the days of the week alone.
  if (step === null || step === 1) return kind === "weekday" && step === 1 ? `${first}-${last}` : "*";
  return step > last - first ? String(first) : `*/${step}`;
}

function randomText(base: string, field: FugitField): string | null {
  const [from = "", to = "", surplus] = base.split("~");
  if (surplus !== undefined) return null;
  if (from === "" && to === "") return "H";
  const low = from === "" ? field.first : numberOf(from, field);
  const high = to === "" ? field.last : numberOf(to, field);
  return low === null || high === null || low > high || high > field.last ? null : `H(${low}-${high})`;
}

/** Days that depend on the month: `last`, `-2`, `mon#2`, `fri#last`. */
function specialText(base: string, field: FugitField): string | null {
  if (field.kind === "day") {
    if (/^(last|l|-0?1)$/i.test(base)) return "L";
    const [, back] = /^-(3[01]|[12]\d|0?[1-9])$/.exec(base) ?? [];
    return back === undefined ? null : `L-${Number(back) - 1}`;
  }
  const [, named = "", nth = ""] = /^([0-7]|[a-z]{3})#(-1|[1-5]|last|l)$/i.exec(base) ?? [];
  const weekday = field.kind === "weekday" && named !== "" ? numberOf(named, field) : null;
  if (weekday === null) return null;
  return /^\d$/.test(nth) ? `${weekday % 7}#${nth}` : `${weekday % 7}L`;
}

function rangeText(base: string, step: number | null, field: FugitField): string | null {
  const [fromText = "", toText, surplus] = base.split("-");
  const from = numberOf(fromText, field);
  if (from === null || surplus !== undefined) return null;
  const { last } = field;
  if (toText === undefined) {
    const one = String(from > last ? from - last - 1 : from);
    // A day of the week with a step stands alone; elsewhere it begins a range to the end.
    return step === null || field.kind === "weekday" || from + step > last ? one : `${from}/${step}`;
  }
  const to = numberOf(toText, field);
  if (to === null) return null;
  if (from === field.first && to === last && (step ?? 1) === 1 && field.kind !== "weekday") return "*";
  if (from <= to && to <= last) {
    if (step === null || step === 1) return `${from}-${to}`;
    return step > last - field.first ? String(from) : `${from}-${to}/${step}`;
  }
  return valuesBeyondEnd(from, to, step ?? 1, field).join(",");
}

/** The values of a range that goes over the end of its field, such as `22-2`, `20-24` or `fri-mon`. */
function valuesBeyondEnd(from: number, to: number, step: number, { first, last }: FugitField): number[] {
  const size = last - first + 1;
  const end = to < from ? to + size : to;
  const values: number[] = [];
  for (let value = from; value <= end; value += step) values.push(value > last ? value - size : value);
  return [...new Set(values)].sort((a, b) => a - b);
}

/** Hour 24 and weekday 7 are allowed, as names for the first value. */
function numberOf(text: string, { first, last, names, kind }: FugitField): number | null {
  const named = names.indexOf(text.toLowerCase());
  if (named !== -1) return named + first;
  if (!/^\d{1,2}$/.test(text)) return null;
  const value = Number(text);
  const most = kind === "hour" || kind === "weekday" ? last + 1 : last;
  return value >= first && value <= most ? value : null;
}
