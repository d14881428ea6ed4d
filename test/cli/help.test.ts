import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseArguments } from "../../lib/cli/arguments.ts";
import { commandTable } from "../../lib/cli/commands/command-table.ts";
import { everywhere } from "../../lib/cli/common-options.ts";
import { helpTopics, reference } from "../../lib/cli/help.ts";
import { readInstant } from "../../lib/cli/instants.ts";
import { questions, synonyms } from "../../lib/cli/tasks.ts";
import { type OwnCli, ownCli } from "./own-cli.ts";

let cli: OwnCli;
let folder: string;
const before = process.cwd();

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "carillon-help-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  process.chdir(folder);
  cli = await ownCli();
  await cli.carillon(["calendar", "put", "holidays", "--date", "12-25"]);
});

afterAll(async () => {
  // Restored first, because the next file of this process has the same working directory.
  process.chdir(before);
  await cli.stop();
  rmSync(folder, { recursive: true });
});

/** Resources that the examples use and may delete. */
const prepared = [
  "carillon put report:weekly --when '0 9 * * MON' --queue reports --tag reports --group order:1",
  "carillon put order:1 --when 'in 3h' --queue orders --group order:1",
];

/** The content of files that the examples name. */
const file = JSON.stringify({ when: "0 9 * * MON", target: { queue: "reports" } });

/** Files of examples that read whole files. */
const files: Record<string, string> = {
  "crontab.txt": "0 3 * * * /opt/backup.sh\n",
  "schedules.json": JSON.stringify({
    Name: "close",
    ScheduleExpression: "cron(0 9 ? * MON-FRI *)",
    Target: { Arn: "arn:aws:sqs:eu-central-1:123456789012:close", Input: "{}" },
  }),
  "manifests/nightly.yaml": 'kind: CronJob\nmetadata: {name: a}\nspec: {schedule: "0 3 * * *"}\n',
  "vercel.json": JSON.stringify({ crons: [{ path: "/api/daily", schedule: "0 9 * * *" }] }),
  "node_modules/carillon-dev/package.json": '{"version":"0.0.0","bin":{"carillon-dev":"dev.js"}}',
  "schedules/daily.yaml": 'when: "0 9 * * *"\ntarget: { queue: orders }\n',
};

/** Splits a line as a shell does, as far as the examples need; a redirection is dropped. */
function wordsOf(line: string): string[] {
  const words = line.replace(/ > \S+$/, "").match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  return words.slice(1).map((word) => (/^['"]/.test(word) ? word.slice(1, -1) : word));
}

/** Every instant that a command prints, and what follows it in parentheses. */
const instants =
  /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?(?: \((?:now|in [^)]*|[^)]* ago)\))?/g;
const shown = new Set<string>();

/** Reads every instant of an output, and keeps some for explain. */
function keepShown(out: string): void {
  const printed = [...out.matchAll(instants)].map(([text]) => text);
  for (const text of printed)
    expect(() => readInstant({ text, option: "--at", zone: "UTC", now: 0 })).not.toThrow();
  for (const text of printed.slice(-2)) shown.add(text);
}

/** A backfill needs a past, which a new database does not have, and a move another installation. */
const refusals: Readonly<Record<string, RegExp>> = {
  backfill: /before the schedule was created/,
  move: /^The installation of --to needs a token of its own/,
};

describe.each(commandTable)("carillon $name", ({ name, examples, options, usage }) => {
  test("The examples in the help of a command run", async () => {
    expect(examples.length).toBeGreaterThan(0);
    for (const line of prepared) await cli.carillon(wordsOf(line));
    const isOfJobs = ["job", "retry", "cancel", "explain"].includes(name);
    const id = isOfJobs ? JSON.parse((await cli.carillon(["fire", "order:1", "--json"])).out).id : "";
    if (name === "retry") await cli.carillon(["cancel", id]);
    const refusal = refusals[name] ?? /^$/;
    for (const example of examples) {
      const words = wordsOf(example.replace("1-1796115600000-c0", id));
      const ended = await cli.carillon(name === "tail" ? [...words, "--for", "1"] : words, { input: file });
      if (ended.code !== 0) expect(ended.err, example).toMatch(refusal);
      keepShown(ended.out);
    }
  });

  test("The help of a command lists its arguments and options", async () => {
    const { code, out } = await cli.carillon(["help", name]);
    expect(code).toBe(0);
    expect(out).toContain(`carillon ${name}${usage === "" ? "" : ` ${usage}`} [options]`);
    for (const option of Object.keys(options)) expect(out).toContain(`--${option}`);
    expect((await cli.carillon([name, "--help"])).out).toBe(out);
  });

  test("A command does not reuse the name of a common option", () => {
    for (const option of Object.keys(options)) expect(Object.keys(everywhere)).not.toContain(option);
    const letters = Object.values(options).flatMap(({ short }: { short?: string }) => short ?? []);
    expect(new Set(letters).size).toBe(letters.length);
  });
});

test("Instants that the examples of all commands print can be given to explain", async () => {
  expect(shown.size).toBeGreaterThan(20);
  const refused: string[] = [];
  for (const at of shown) {
    const { code, err } = await cli.carillon(["explain", "report:weekly", "--at", at]);
    if (code !== 0) refused.push(`${at}: ${err}`);
  }
  expect(refused).toEqual([]);
});

describe("carillon help", () => {
  const help = async (...words: string[]) => cli.carillon(["help", ...words]);

  test("The overview names every command once, under its task, and every topic", async () => {
    const { out } = await help();
    for (const { name, summary } of commandTable)
      expect(
        out.split("\n").filter((line) => line.trim().startsWith(`${name} `) && line.endsWith(summary)),
      ).toHaveLength(1);
    for (const topic of helpTopics) expect(out).toContain(topic);
  });

  test("The command for each question of the overview exists, with its options", async () => {
    const { out } = await help();
    for (const [question, line] of questions) {
      expect(out).toContain(`${question}  `);
      const [name = "", ...words] = wordsOf(line);
      const command = commandTable.find((each) => each.name === name);
      if (command === undefined) throw new Error(`There is no command ${name}.`);
      expect(() => parseArguments(command, words)).not.toThrow();
    }
  });

  test("A topic shows its commands with their examples", async () => {
    const { code, out } = await help("why");
    expect(code).toBe(0);
    for (const name of ["explain", "job", "versions"]) {
      const command = commandTable.find((each) => each.name === name);
      for (const example of command?.examples ?? [""]) expect(out).toContain(example);
    }
    expect((await help("times")).out).toContain("in 3h");
    expect((await help("scripts")).out).toMatch(/Exit codes\n +0 +done/);
  });

  test("An unknown word gets the nearest command or topic, also by another name for it", async () => {
    expect((await help("scrips")).err).toContain("Did you mean scripts?");
    expect((await help("explian")).err).toContain("Did you mean explain?");
    expect((await cli.carillon(["list"])).err).toContain("Did you mean ls?");
    expect((await cli.carillon(["constructor"])).err).toMatch(/^There is no command "constructor"\.\n/);
    expect((await cli.carillon(["--url", "https://example.com", "ls"])).err).toMatch(
      /^Options come after the command: carillon <command> --url …\n/,
    );
    for (const [word, name] of Object.entries(synonyms)) {
      const names = commandTable.map((each) => each.name);
      expect(names).toContain(name);
      expect(names).not.toContain(word);
    }
  });
});

test("docs/cli.md shows every command", () => {
  const page = readFileSync(path.join(import.meta.dirname, "..", "..", "docs", "cli.md"), "utf8");
  // Made by: node lib/cli/main.ts help --markdown
  const [, shown] = page.split("<!-- commands -->\n\n");
  expect(shown?.trimEnd()).toBe(reference(commandTable));
});
