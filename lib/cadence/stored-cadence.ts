import type { CalendarInterval, Dst } from "./cadence.ts";
import type { Cadence } from "./cadence-kinds.ts";
import type { CalendarUnit } from "./calendar-interval.ts";
import { compiledCron } from "./cron/cron.ts";
import { formatDuration, readDuration } from "./duration.ts";

/** A cadence as three texts that read back exactly. Equal cadences have equal texts. */
export interface StoredCadence {
  expression: string;
  timezone: string;
  /** Empty if clock changes follow the default rules. */
  dst: string;
}

const SEPARATOR = " | ";

/** The texts of a cadence. Windows and calendars are stored in columns of their own. */
export function storedForm(cadence: Cadence): StoredCadence {
  const members = cadence.kind === "union" ? cadence.of : [cadence];
  const zoned = members.flatMap((member) =>
    member.kind === "cron" || member.kind === "calendar-interval"
      ? [{ timezone: member.timezone, dst: dstText(member.dst) }]
      : [],
  );
  const [{ timezone, dst } = { timezone: "UTC", dst: "" }] = zoned;
  if (zoned.some((member) => member.timezone !== timezone || member.dst !== dst)) {
    throw new Error("The members of a union are stored with one time zone and one rule for clock changes.");
  }
  return { expression: members.map(memberText).join(SEPARATOR), timezone, dst };
}

function memberText(cadence: Cadence): string {
  switch (cadence.kind) {
    case "once":
      return `at ${new Date(cadence.at).toISOString()}`;
    case "interval":
      return `every ${formatDuration(cadence.everyMs)} from ${new Date(cadence.firstAt).toISOString()}`;
    case "cron":
      return cadence.expression;
    case "calendar-interval": {
      const anchor = new Date(cadence.anchor).toISOString().slice(0, -1);
      return `every ${cadence.every} ${cadence.unit} ${cadence.from === 0 ? "from" : "after"} ${anchor}`;
    }
    default:
      throw new Error(`A cadence of kind ${cadence.kind} is not stored as text.`);
  }
}

function dstText(dst: Dst | undefined): string {
  const parts = [dst?.gap && `gap ${dst.gap}`, dst?.overlap && `overlap ${dst.overlap}`];
  return parts.filter(Boolean).join(", ");
}

/** Enough for the cadences that a tick meets, and a bound for the memory. */
const READ_MAX = 5_000;
const read = new Map<string, Cadence>();

/** Reads the texts of `storedForm`; any other text is a mistake of the program. */
export function readStoredForm({ expression, timezone, dst }: StoredCadence): Cadence {
  const name = `${timezone} ${dst} ${expression}`;
  const known = read.get(name);
  if (known !== undefined) return known;
  const zone = { timezone, ...readDst(dst) };
  const members = expression.split(SEPARATOR).map((text) => readMember(text, zone));
  const [first] = members;
  const cadence: Cadence =
    members.length === 1 && first !== undefined ? first : { kind: "union", of: members };
  if (read.size >= READ_MAX) {
    const [oldest] = read.keys();
    if (oldest !== undefined) read.delete(oldest);
  }
  read.set(name, cadence);
  return cadence;
}

type ZoneAndDst = Pick<CalendarInterval, "timezone" | "dst">;

const INTERVAL = /^every (\S+) from (\S+Z)$/;
const CALENDAR_INTERVAL = /^every (\d+) (\w+) (from|after) (\S+)$/;

function readMember(text: string, zone: ZoneAndDst): Cadence {
  if (text.startsWith("at ")) return { kind: "once", at: readInstant(text.slice(3)) };
  if (!text.startsWith("every ")) {
    // An unreadable expression fails here, and not later in a search.
    compiledCron(text);
    return { kind: "cron", expression: text, ...zone };
  }
  const [, duration, firstAt = ""] = INTERVAL.exec(text) ?? [];
  if (duration !== undefined) {
    const every = readDuration(duration);
    if (every.ok) return { kind: "interval", everyMs: every.ms, firstAt: readInstant(firstAt) };
  }
  const [, every, name, from, anchor = ""] = CALENDAR_INTERVAL.exec(text) ?? [];
  const unit = units.find((known) => known === name);
  if (unit === undefined) throw notStored(text);
  return {
    kind: "calendar-interval",
    every: Number(every),
    unit,
    anchor: readInstant(`${anchor}Z`),
    from: from === "from" ? 0 : 1,
    ...zone,
  };
}

const units: readonly CalendarUnit[] = ["day", "week", "month", "year"];

function readInstant(text: string): number {
  const instant = Date.parse(text);
  if (Number.isNaN(instant)) throw notStored(text);
  return instant;
}

const DST = /^(?:gap (next|skip))?(?:, )?(?:overlap (first|last|both))?$/;

function readDst(text: string): { dst?: Dst } {
  if (text === "") return {};
  const [whole, gapText, overlapText] = DST.exec(text) ?? [];
  if (whole === undefined) throw notStored(text);
  const gap = (["next", "skip"] as const).find((known) => known === gapText);
  const overlap = (["first", "last", "both"] as const).find((known) => known === overlapText);
  return { dst: { ...(gap && { gap }), ...(overlap && { overlap }) } };
}

function notStored(text: string): Error {
  return new Error(`"${text}" is not the stored form of a cadence.`);
}
