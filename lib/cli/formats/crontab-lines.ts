/** A line of a crontab that runs a command, with the settings of the lines above it. */
export interface CrontabEntry {
  line: number;
  /** Five fields, or a word such as `@daily`. */
  when: string;
  user: string | null;
  command: string;
  /** The text behind the first `%`; each further `%` is a line break. */
  stdin: string | null;
  /** From a comment above: `# carillon: key=backup`. */
  key: string | null;
  /** The variables set above the line; the last value of each name counts. */
  variables: ReadonlyMap<string, string>;
}

export interface BadLine {
  line: number;
  fault: string;
}

const setting = /^\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*(.*?)\s*$/;
const entry = /^\s*-?(@\S+|(?:\S+[ \t]+){4}\S+)[ \t]+(\S.*?)\s*$/;
const keyComment = /^\s*#+\s*carillon:\s*key=(\S.*?)\s*$/i;

/**
 * Reads a crontab as cronie and Vixie cron do; with `system`, each command has a user before it, as
 * in /etc/crontab.
 */
export function readCrontabLines(
  text: string,
  { system }: { system: boolean },
): { entries: CrontabEntry[]; bad: BadLine[] } {
  const entries: CrontabEntry[] = [];
  const bad: BadLine[] = [];
  const variables = new Map<string, string>();
  let key: string | null = null;
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = index + 1;
    if (/^\s*$/.test(raw)) {
      key = null;
      continue;
    }
    if (/^\s*#/.test(raw)) {
      key = keyComment.exec(raw)?.[1] ?? key;
      continue;
    }
    const [set, doubleQuoted, quoted, plain, value = ""] = setting.exec(raw) ?? [];
    if (set !== undefined) {
      variables.set(doubleQuoted ?? quoted ?? plain ?? "", unquoted(value));
      continue;
    }
    const read = readEntry(raw, system);
    if (read === null) bad.push({ line, fault: system ? systemForm : userForm });
    else entries.push({ line, ...read, key, variables: new Map(variables) });
    key = null;
  }
  return { entries, bad };
}

const userForm = "is not a line of a crontab: five fields or a word such as @daily, then a command";
const systemForm =
  "is not a line of a system crontab: five fields or a word such as @daily, a user, then a command";

function readEntry(
  raw: string,
  system: boolean,
): Pick<CrontabEntry, "when" | "user" | "command" | "stdin"> | null {
  const [, when = "", rest = ""] = entry.exec(raw) ?? [];
  if (when === "") return null;
  const [, user = "", owned = ""] = system ? (/^(\S+)[ \t]+(\S.*)$/.exec(rest) ?? []) : [];
  if (system && owned === "") return null;
  return {
    when: when.replace(/[ \t]+/g, " "),
    user: system ? user : null,
    ...splitCommand(system ? owned : rest),
  };
}

/** An unescaped `%` ends the command; the rest is its stdin. */
function splitCommand(text: string): { command: string; stdin: string | null } {
  const parts = [""];
  for (const piece of text.match(/\\%|%|\\|[^%\\]+/g) ?? []) {
    if (piece === "%") parts.push("");
    else parts.push(`${parts.pop() ?? ""}${piece === "\\%" ? "%" : piece}`);
  }
  const [command = "", ...input] = parts;
  return { command: command.trimEnd(), stdin: input.length === 0 ? null : input.join("\n") };
}

function unquoted(value: string): string {
  return /^(["']).*\1$/.test(value) && value.length > 1 ? value.slice(1, -1) : value;
}
