import type { Command, CommandGroup, OptionSpec } from "./command.ts";
import { everywhere } from "./common-options.ts";
import { exitCodeWords } from "./exit-codes.ts";

const groups: readonly CommandGroup[] = [
  "Schedules",
  "Time",
  "Jobs",
  "Groups, calendars, limits",
  "Operation",
];

/** The text of `carillon help`. */
export function overview(table: readonly Command[], version: string): string {
  const width = Math.max(...table.map(({ name }) => name.length));
  const lists = groups.map((group) => {
    const own = table.filter((command) => command.group === group);
    return [group, ...own.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`)].join("\n");
  });
  return [
    `carillon ${version}: schedules that run on time, once, and can say why.`,
    "carillon <command> …     carillon help <command>",
    ...lists,
    optionLines("Everywhere", everywhere),
    ["Exit codes", ...exitCodeWords.map(([code, words]) => `  ${String(code).padEnd(3)}  ${words}`)].join(
      "\n",
    ),
    "It calls CARILLON_URL with CARILLON_TOKEN; without them, the API that `npm start` runs in this folder.",
  ].join("\n\n");
}

export function commandHelp(command: Command): string {
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

export function usageOf({ name, usage }: Command): string {
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
