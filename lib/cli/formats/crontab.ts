import { canonicalTimezone } from "../../cadence/zone/timezone.ts";
import { commandKey } from "./command-key.ts";
import { type CrontabEntry, readCrontabLines } from "./crontab-lines.ts";
import { crontabWhen } from "./crontab-when.ts";
import type { Found, JsonObject, Reading } from "./found.ts";
import type { SourceFile } from "./source-files.ts";

export interface CrontabParams {
  /** Where each command goes; Carillon runs none itself. */
  target: JsonObject;
  /** Of what no CRON_TZ stands above. */
  timezone: string | undefined;
  /** A user stands before each command. */
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

/** What is kept on a system's disk says by its first lines that a user stands in each: they are those of Debian and of Red Hat. */
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
    // A command that stands there several times is told apart by its times.
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
            "where clocks change, cron counts it among the fixed times, Carillon among the intervals: `dst` makes it as cron does",
          ]
        : []),
      ...differences,
      ...zone.differences,
      ...(delay > 0
        ? [
            "RANDOM_DELAY: cron draws a delay each time it starts; `spread` moves it by a part that follows from the key and stays",
          ]
        : []),
      ...environmentDifferences(entry),
      ...always,
    ],
    faults: [...faults, ...zone.faults],
  };
}

const always = [
  'Carillon runs no shell: the command goes to the target as `{"command":"…"}`, and what receives it has to run it',
  "cron tries once; here a job that fails is tried again, five times in all (`retry`)",
  "cron leaves out what it missed; here the latest missed run is made up for (`catchUp`)",
];

function environmentDifferences({ stdin, variables }: CrontabEntry): string[] {
  const told: string[] = [];
  if (stdin !== null)
    told.push("what follows `%` was the command's stdin: it stands in the payload as `stdin`");
  const mail = variables.get("MAILTO");
  if (mail !== undefined && mail !== "") told.push("MAILTO: nobody is mailed what the command prints");
  const others = [...variables.keys()].filter((name) => !known.has(name));
  // Their values may be secrets.
  if (others.length > 0) told.push(`it had variables that are not sent: ${others.join(", ")}`);
  return told;
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
    const differences = ["cron goes by the clock of its machine, and no CRON_TZ names its zone: read as UTC"];
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
          `TZ=${name} is taken for the zone of its times, as some crons do; cronie and Vixie cron hand it to the command alone`,
        ]
      : [];
  return { name, differences, faults: [] };
}
