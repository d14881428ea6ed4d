import type { Readable, Writable } from "node:stream";
import type { Carillon } from "../client/main.ts";
import type { Output } from "./output/output.ts";
import type { SecretFile } from "./secret-file.ts";

export interface OptionSpec {
  about: string;
  /** The placeholder of the value in the help; an option without one is a switch. */
  value?: string;
  short?: string;
  multiple?: boolean;
}

/** The options that were given, with their values parsed. */
export interface Given<Name extends string> {
  text(name: Name): string | undefined;
  texts(name: Name): string[];
  flag(name: Name): boolean;
  number(name: Name, bounds?: { min?: number; max?: number }): number | undefined;
}

/** The streams of a command that speaks a protocol of its own. */
export interface Streams {
  input: Readable;
  output: Writable;
}

/** Programs of other packages, in processes of their own. */
export interface Programs {
  /** Runs one at this terminal until it ends, and returns its exit code. */
  run(file: string, args: readonly string[]): Promise<number>;
  /** Runs one and returns what it printed. */
  read(file: string, args: readonly string[]): Promise<{ code: number; out: string; err: string }>;
}

/** The context of a run of a command. */
export interface Call<Name extends string = string> {
  words: readonly string[];
  given: Given<Name>;
  /** Made at its first use, which needs an address and a token. */
  readonly client: Carillon;
  out: Output;
  env: Readonly<Record<string, string | undefined>>;
  /** The version of the CLI. */
  version: string;
  signal: AbortSignal;
  now(): number;
  /** Reads a whole file, or stdin where the name is `-`. */
  read(file: string): Promise<string>;
  /** Prepares a file for a secret, for its owner only. The file exists once it is filled. */
  secretFile(file: string): Promise<SecretFile>;
  /**
   * Asks for a yes, unless `isYes` (`--yes`). Throws if the answer is another one, or if there is
   * no terminal.
   */
  confirm(question: string, isYes: boolean): Promise<void>;
  pause(ms: number): Promise<void>;
  streams(): Streams;
  programs: Programs;
}

export type CommandGroup =
  | "Local"
  | "Schedules"
  | "Time"
  | "Jobs"
  | "Groups, calendars, limits"
  | "Operation";

export interface CommandText {
  name: string;
  /** Another name that people try first. */
  alias?: string;
  group: CommandGroup;
  summary: string;
  /** The placeholders behind the name: `<key>`, `<id>…`, `[key]`. */
  usage: string;
  about?: string;
  /** The next step where the key, or what the command asks of it, does not exist. */
  missing?: (key: string) => string;
  /** How many words the command takes. */
  words: { min: number; max: number };
  examples: readonly string[];
}

export interface CommandSpec<Options extends Readonly<Record<string, OptionSpec>>> extends CommandText {
  options: Options;
  run(call: Call<keyof Options & string>): Promise<void>;
}

/** A command for the table, without the types of its options. */
export interface Command extends CommandText {
  options: Readonly<Record<string, OptionSpec>>;
  run(call: Call): Promise<void>;
}

export function command<const Options extends Readonly<Record<string, OptionSpec>>>(
  spec: CommandSpec<Options>,
): Command {
  return spec;
}
