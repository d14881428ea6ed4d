import { type Carillon, CarillonProblem, CarillonUnreachable } from "../client/main.ts";
import { escaped } from "../log/unprintable.ts";
import { parseArguments } from "./arguments.ts";
import type { Call, Command, Given, Programs, Streams } from "./command.ts";
import { commandTable } from "./commands/command-table.ts";
import { connect, isLoopback } from "./connection.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";
import { Interrupted, NotConfirmed, NotOnTime, ProgramEnded, UsageFault, WouldChange } from "./fault.ts";
import { commandHelp, helpTopics, overview, reference, topicHelp, usageOf } from "./help.ts";
import { nearest } from "./nearest.ts";
import { Output, type Terminal } from "./output/output.ts";
import { painter, printable } from "./output/style.ts";
import type { SecretFile } from "./secret-file.ts";
import { synonyms } from "./tasks.ts";
import { timesIn } from "./times.ts";

/** The parts of the machine that a run of the CLI uses. */
export interface Surroundings {
  terminal: Terminal;
  env: Readonly<Record<string, string | undefined>>;
  version: string;
  signal: AbortSignal;
  now(): number;
  pause(ms: number, signal: AbortSignal): Promise<void>;
  read(file: string): Promise<string>;
  secretFile(file: string): Promise<SecretFile>;
  streams(): Streams;
  programs: Programs;
  /** The answer of a person; null without a terminal. */
  ask(question: string): Promise<string | null>;
}

/** Runs one command line and returns the exit code. */
export async function run(args: readonly string[], around: Surroundings): Promise<number> {
  const [name = "help", ...rest] = args;
  const isJson = args.includes("--json");
  let command: Command | undefined;
  let key: string | undefined;
  try {
    if (["help", "--help", "-h"].includes(name)) return help(rest, around);
    if (["version", "--version"].includes(name)) {
      around.terminal.write(`${around.version}\n`);
      return exitCodes.done;
    }
    command = findCommand(name);
    const { words, given } = parseArguments(command, rest);
    if (given.flag("help")) {
      around.terminal.write(`${commandHelp(command)}\n`);
      return exitCodes.done;
    }
    refuseWords(command, words);
    [key] = words;
    await command.run(callOf(words, given, around));
    return exitCodes.done;
  } catch (cause) {
    const error = around.signal.aborted ? new Interrupted() : cause;
    tell(error, { command, key, isJson }, around);
    return exitCodeOf(error);
  }
}

function help([name]: readonly string[], { terminal, version }: Surroundings): number {
  if (name === "--markdown") terminal.write(`${reference(commandTable)}\n`);
  else if (name === undefined) terminal.write(`${overview(commandTable, version)}\n`);
  else terminal.write(`${topicHelp(name, commandTable) ?? commandHelp(findCommand(name, helpTopics))}\n`);
  return exitCodes.done;
}

function findCommand(name: string, topics: readonly string[] = []): Command {
  const found = commandTable.find((command) => command.name === name || command.alias === name);
  if (found !== undefined) return found;
  if (name.startsWith("-"))
    throw new UsageFault(`Options come after the command: carillon <command> ${name} …`);
  const meant = Object.hasOwn(synonyms, name) ? synonyms[name] : undefined;
  const near = meant ?? nearest(name, [...commandTable.map((command) => command.name), ...topics]);
  throw new UsageFault(
    `There is no command ${JSON.stringify(name)}.${near === undefined ? "" : ` Did you mean ${near}?`}`,
  );
}

function refuseWords(command: Command, words: readonly string[]): void {
  const { min, max } = command.words;
  if (words.length < min) throw new UsageFault(`An argument is missing: ${usageOf(command)}`);
  if (words.length > max)
    throw new UsageFault(`${JSON.stringify(words[max])} is one argument too many: ${usageOf(command)}`);
}

function callOf(words: readonly string[], given: Given<string>, around: Surroundings): Call {
  const { terminal, env, signal, now } = around;
  const colours = terminal.isTty && !given.flag("no-color") && (env["NO_COLOR"] ?? "") === "";
  const times = timesIn(given.text("timezone"), now);
  const out = new Output(terminal, { json: given.flag("json"), colours, times });
  let client: Carillon | undefined;
  const connected = () =>
    connect({
      url: given.text("url"),
      tokenFile: given.text("token-file"),
      env,
      version: around.version,
      note: (text) => out.note(text),
    });
  return {
    words,
    given,
    get client() {
      client ??= connected();
      return client;
    },
    out,
    env,
    version: around.version,
    signal,
    now,
    read: around.read,
    secretFile: around.secretFile,
    pause: (ms) => around.pause(ms, signal),
    streams: around.streams,
    programs: around.programs,
    confirm: async (question, isYes) => {
      if (isYes) return;
      const answer = await around.ask(question);
      if (answer === null)
        throw new NotConfirmed(`${question} There is no terminal for the answer: use --yes.`);
      if (!/^y(es)?$/i.test(answer.trim())) throw new NotConfirmed("Nothing was done.");
    },
  };
}

/**
 * Prints an error to stderr: as text, or with --json as one line of JSON, so that stdout has
 * results only.
 */
function tell(
  error: unknown,
  { isJson, ...failed }: Failed & { isJson: boolean },
  { terminal, env }: Surroundings,
): void {
  if (isSaid(error)) return;
  if (isJson) {
    terminal.note(`${escaped(JSON.stringify(errorAsJson(error)))}\n`);
    return;
  }
  const paint = painter(terminal.isTty && (env["NO_COLOR"] ?? "") === "");
  for (const line of errorLines(error, failed)) terminal.note(`${paint(printable(line), "red")}\n`);
}

/** Its output has said it already, or there is nothing to say. */
function isSaid(error: unknown): boolean {
  return [Interrupted, WouldChange, NotOnTime, ProgramEnded].some((each) => error instanceof each);
}

/** The command that failed, and its first argument. */
interface Failed {
  command: Command | undefined;
  key: string | undefined;
}

function errorLines(error: unknown, { command, key }: Failed): string[] {
  if (error instanceof CarillonProblem) {
    const faults = error.errors.map(
      ({ path, message }) => `  ${path === "" ? message : `${path} ${message}`}`,
    );
    // Other answers say themselves what is wrong.
    const isForLog = error.status >= 500 && error.requestId !== undefined;
    const id = isForLog ? [`  request ${error.requestId}: the log has the cause`] : [];
    const hint = error.status === 404 && error.movedTo === undefined ? missingHint({ command, key }) : [];
    return [`${error.detail}${error.status === 0 ? "" : ` (${error.status})`}`, ...faults, ...id, ...hint];
  }
  const sentence = error instanceof Error ? error.message : String(error);
  if (error instanceof CarillonUnreachable && isLoopback(error.url))
    return [sentence, "Is `npm start` running? CARILLON_URL, --url or CARILLON_DATA_DIR name another one."];
  if (!(error instanceof UsageFault)) return [sentence];
  return [sentence, `See carillon help${command === undefined ? "" : ` ${command.name}`}.`];
}

function missingHint({ command, key }: Failed): string[] {
  if (command === undefined || key === undefined || !/^[<[]key[\]>]/.test(command.usage)) return [];
  return [command.missing?.(key) ?? `carillon explain ${key} shows whether it was deleted.`];
}

function errorAsJson(error: unknown): object {
  if (error instanceof CarillonProblem) {
    const { status, type, title, detail, errors, movedTo, requestId } = error;
    return { error: { status, type, title, detail, errors, movedTo, requestId } };
  }
  return { error: { detail: error instanceof Error ? error.message : String(error) } };
}
