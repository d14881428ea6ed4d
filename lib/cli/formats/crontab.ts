import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import { commandKey } from "./command-key.ts";
import { type CrontabEntry, readCrontabLines } from "./crontab-lines.ts";
import { crontabWhen } from "./crontab-when.ts";
import type { Found, JsonObject, Reading } from "./found.ts";
import type { SourceFile } from "./source-files.ts";

export interface CrontabParams {
  /** The target of each command; Carillon runs no commands itself. */
  target: JsonObject;
  /** The zone of lines without a CRON_TZ above them. */
  timezone: string | undefined;
  /** Whether each command has a user before it, as in /etc/crontab. */
  system: boolean;
}

export function readCrontabs(files: readonly SourceFile[], params: CrontabParams): Reading {
  const read = files.map((file) => ({
    file,
    ...readCrontabLines(file.text, { system: params.system || isSystem(file.text) }),
  }));
  const times = new Map<string, number>();
  for (const entry of read.flatMap(({ entries }) => entries)) {
    const named = commandOf(entry);
    times.set(named, (times.get(named) ?? 0) + 1);
  }
  const found = read.flatMap(({ file, entries, bad }) => {
    const lines = [
      ...entries.map((entry) => ({
        line: entry.line,
        found: foundEntry(entry, file.name, { ...params, isAlone: times.get(commandOf(entry)) === 1 }),
      })),
      ...bad.map(({ line, fault }) => ({ line, found: badLine(`${file.name}:${line}`, fault) })),
    ];
    return lines.sort((a, b) => a.line - b.line).map((each) => each.found);
  });
  return { found, notes: [] };
}

function badLine(from: string, fault: string): Found {
  return { from, key: null, body: {}, differences: [], faults: [fault] };
}

/** Recognises a system crontab by the first lines of those that Debian and Red Hat ship. */
function isSystem(text: string): boolean {
  return /^#.*\b(system-wide crontab|user-name\s+command)\b/im.test(text);
}

function commandOf({ user, command, stdin }: CrontabEntry): string {
  return JSON.stringify([user, command, stdin]);
}

function foundEntry(
  entry: CrontabEntry,
  file: string,
  { target, timezone, isAlone }: CrontabParams & { isAlone: boolean },
): Found {
  const { when, isFixedTimeForCronAlone, differences, faults } = crontabWhen(entry.when);
  const zone = zoneOf(entry, timezone);
  const delay = Number(entry.variables.get("RANDOM_DELAY") ?? "0");
  const keepsFixedTime = isFixedTimeForCronAlone && zone.name !== "UTC";
  const payload: JsonObject = {
    command: entry.command,
    ...(entry.user === null ? {} : { user: entry.user }),
    ...(entry.stdin === null ? {} : { stdin: entry.stdin }),
  };
  return {
    from: `${file}:${entry.line}`,
    // A command that occurs several times has its times in the hash of its key.
    key: entry.key ?? commandKey(entry.command, commandOf(entry), ...(isAlone ? [] : [entry.when])),
    body: {
      when,
      timezone: zone.name,
      target,
      payload,
      ...(delay > 0 ? { spread: `${delay}m` } : {}),
      ...(keepsFixedTime ? { dst: { gap: "next", overlap: "first" } } : {}),
    },
    differences: [
      ...(keepsFixedTime
        ? [
            "cron counts it as a fixed time at clock changes, Carillon as an interval: `dst` makes it behave as in cron",
          ]
        : []),
      ...differences,
      ...zone.differences,
      ...(delay > 0
        ? ["RANDOM_DELAY: cron picks a delay at each start; `spread` uses a fixed delay derived from the key"]
        : []),
      ...environmentDifferences(entry),
      ...always,
    ],
    faults: [...faults, ...zone.faults],
  };
}

const always = [
  'Carillon runs no shell: the command goes to the target as `{"command":"…"}`, and its receiver must run it',
  "cron runs it once; Carillon retries a failed job, with up to five attempts (`retry`)",
  "cron skips missed runs; Carillon makes up for the latest one (`catchUp`)",
];

function environmentDifferences({ stdin, variables }: CrontabEntry): string[] {
  const notes: string[] = [];
  if (stdin !== null)
    notes.push("the text behind `%` was the command's stdin: it is in the payload as `stdin`");
  const mail = variables.get("MAILTO");
  if (mail !== undefined && mail !== "") notes.push("MAILTO: Carillon does not mail the command's output");
  const others = [...variables.keys()].filter((name) => !known.has(name));
  // Only the names, because the values may be secrets.
  if (others.length > 0) notes.push(`it had variables that are not sent: ${others.join(", ")}`);
  return notes;
}

const known: ReadonlySet<string> = new Set(["CRON_TZ", "TZ", "MAILTO", "MAILFROM", "RANDOM_DELAY"]);

interface Zone {
  name: string;
  differences: string[];
  faults: string[];
}

function zoneOf({ variables }: CrontabEntry, byOption: string | undefined): Zone {
  const cronTz = variables.get("CRON_TZ");
  const tz = variables.get("TZ");
  const named = (cronTz ?? tz)?.replace(/^:/, "");
  if (named === undefined || named === "") {
    const differences = ["cron uses the clock of its machine, and no CRON_TZ names a zone: read as UTC"];
    return { name: byOption ?? "UTC", differences: byOption === undefined ? differences : [], faults: [] };
  }
  const name = canonicalTimezone(named);
  if (name === null)
    return {
      name: "UTC",
      differences: [],
      faults: [`its zone ${JSON.stringify(named)} is not the name of an IANA time zone`],
    };
  const differences =
    cronTz === undefined
      ? [
          `TZ=${name} is read as the zone of its times, as some crons do; cronie and Vixie cron pass it only to the command`,
        ]
      : [];
  return { name, differences, faults: [] };
}
