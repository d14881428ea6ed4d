import type { Command, CommandGroup, OptionSpec } from "./command.ts";
import { everywhere } from "./common-options.ts";
import { exitCodeWords } from "./exit-codes.ts";
import { commandsOf, questions, tasks } from "./tasks.ts";

const groups: readonly CommandGroup[] = [
  "Local",
  "Schedules",
  "Time",
  "Jobs",
  "Groups, calendars, limits",
  "Operation",
];

/** The text of `carillon help`. */
export function overview(table: readonly Command[], version: string): string {
  const width = Math.max(...table.map(({ name }) => name.length));
  const lists = tasks.map((task) =>
    [
      `${task.title} (help ${task.topic})`,
      ...commandsOf(task, table).map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
    ].join("\n"),
  );
  const asked = Math.max(...questions.map(([question]) => question.length));
  return [
    `carillon ${version}: schedules that run on time, once, and can say why.`,
    "carillon <command> …     carillon help <command or topic>",
    ["On call", ...questions.map(([question, command]) => `  ${question.padEnd(asked)}  ${command}`)].join(
      "\n",
    ),
    ...lists,
    `Topics: ${helpTopics.join(", ")}`,
    "It calls CARILLON_URL with CARILLON_TOKEN; without them, the API that `npm start` runs in this folder, or with the data of CARILLON_DATA_DIR.",
  ].join("\n\n");
}

const textTopics: Readonly<Record<string, () => string>> = {
  times: () => timesText,
  scripts: () =>
    [
      scriptsText,
      ["Exit codes", ...exitCodeWords.map(([code, words]) => `  ${String(code).padEnd(3)}  ${words}`)].join(
        "\n",
      ),
      optionLines("Everywhere", everywhere),
    ].join("\n\n"),
};

export const helpTopics: readonly string[] = [...tasks.map(({ topic }) => topic), ...Object.keys(textTopics)];

/** The text of a topic; undefined for another word. */
export function topicHelp(topic: string, table: readonly Command[]): string | undefined {
  const text = Object.hasOwn(textTopics, topic) ? textTopics[topic] : undefined;
  if (text !== undefined) return text();
  const task = tasks.find((each) => each.topic === topic);
  if (task === undefined) return undefined;
  const sections = commandsOf(task, table).map((command) =>
    [`${command.name}: ${command.summary}`, ...command.examples.map((example) => `  ${example}`)].join("\n"),
  );
  return [task.title, ...sections, "All options: carillon help <command>"].join("\n\n");
}

const timesText = `How instants are written, wherever an option takes one

  "2026-11-23 09:00:00"                the clock of --timezone, or else of this machine
  "2026-11-23 09:00 Europe/Berlin"     the clock of that zone
  "2026-11-23T08:00:00Z", "2026-11-23 09:00:00+01:00"
  2026-11-23                           the beginning of the day, in the same zone
  09:00                                today
  now, "in 3h", "1h 30m ago"

A window of \`agenda\`

  "Mon 08:55..09:05"                   a day with times: a weekday, today, tomorrow, 2026-12-01
  "Mon 22:00..Tue 02:00"               an end on another day needs its day
  tomorrow, "last fri"                 a whole day
  +2h, "last 30m", "2h ago..now"       from now

Every time that a command prints can be given to another one, also with what follows it in
parentheses. An hour that the clocks show twice is printed with its offset, and must be given with it.
explain takes a time that is cut to seconds for the run within that second.`;

const scriptsText = `Results go to stdout, everything else to stderr. --json prints one value; for a list, one value a line.
Commands that would change many items ask first: --yes confirms, and without a terminal it is needed.`;

export function commandHelp(command: Omit<Command, "run">): string {
  return [
    `${usageOf(command)}\n  ${command.summary}.`,
    ...(command.about === undefined ? [] : [command.about]),
    ...(Object.keys(command.options).length === 0 ? [] : [optionLines("Options", command.options)]),
    optionLines("Everywhere", everywhere),
    ["Examples", ...command.examples.map((example) => `  ${example}`)].join("\n"),
  ].join("\n\n");
}

function optionLines(title: string, options: Readonly<Record<string, OptionSpec>>): string {
  const rows = Object.entries(options).map(([name, spec]) => [writtenAs(name, spec), aboutOf(spec)] as const);
  const width = Math.max(...rows.map(([written]) => written.length));
  return [title, ...rows.map(([written, about]) => `  ${written.padEnd(width)}  ${about}`)].join("\n");
}

function writtenAs(name: string, { value, short }: OptionSpec): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;
}

function aboutOf({ about, multiple }: OptionSpec): string {
  return multiple === true && !about.includes("several") ? `${about}; may be given several times` : about;
}

export function usageOf({ name, usage }: Pick<Command, "name" | "usage">): string {
  return `carillon ${name}${usage === "" ? "" : ` ${usage}`} [options]`;
}

/** The reference of all commands for docs/cli.md. */
export function reference(table: readonly Command[]): string {
  return groups
    .map((group) =>
      [`### ${group}`, ...table.filter((command) => command.group === group).map(section)].join("\n\n"),
    )
    .join("\n\n");
}

function section(command: Command): string {
  const options = Object.entries(command.options).map(
    ([name, spec]) => `| \`${writtenAs(name, spec)}\` | ${cell(aboutOf(spec))} |`,
  );
  return [
    `#### ${command.name}`,
    `\`${usageOf(command)}\``,
    `${command.summary}.${command.about === undefined ? "" : ` ${command.about}`}`,
    `\`\`\`\n${command.examples.join("\n")}\n\`\`\``,
    ...(options.length === 0 ? [] : [["| option | |", "|---|---|", ...options].join("\n")]),
  ].join("\n\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
