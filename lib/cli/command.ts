import type { Carillon } from "../client/main.ts";
import type { Output } from "./output/output.ts";
import type { SecretFile } from "./secret-file.ts";

export interface OptionSpec {
  about: string;
  /** What stands for its value in the help; without one it is a switch. */
  value?: string;
  short?: string;
  /** It may be given several times. */
  multiple?: boolean;
}

/** What was given of the options, read as what they take. */
export interface Given<Name extends string> {
  text(name: Name): string | undefined;
  texts(name: Name): string[];
  flag(name: Name): boolean;
  /** A whole number. */
  number(name: Name, bounds?: { min?: number; max?: number }): number | undefined;
}

/** Everything a command has at hand. */
export interface Call<Name extends string = string> {
  words: readonly string[];
  given: Given<Name>;
  client: Carillon;
  out: Output;
  env: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  now(): number;
  /** The whole of a file, or of stdin where the name is `-`. */
  read(file: string): Promise<string>;
  /** A file for a secret, for its owner alone; there once it is filled. */
  secretFile(file: string): Promise<SecretFile>;
  /** Asks a person; throws where the answer is not yes, or there is nobody to ask and no `--yes`. */
  confirm(question: string, isYes: boolean): Promise<void>;
  pause(ms: number): Promise<void>;
}

export type CommandGroup = "Schedules" | "Time" | "Jobs" | "Groups, calendars, limits" | "Operation";

interface CommandText {
  name: string;
  group: CommandGroup;
  summary: string;
  /** What follows the name: `<key>`, `<id>…`, `[key]`. */
  usage: string;
  about?: string;
  /** How many words it takes. */
  words: { min: number; max: number };
  examples: readonly string[];
}

export interface CommandSpec<Options extends Readonly<Record<string, OptionSpec>>> extends CommandText {
  options: Options;
  run(call: Call<keyof Options & string>): Promise<void>;
}

/** A command whose own option names have been checked where it was written. */
export interface Command extends CommandText {
  options: Readonly<Record<string, OptionSpec>>;
  run(call: Call): Promise<void>;
}

export function command<const Options extends Readonly<Record<string, OptionSpec>>>(
  spec: CommandSpec<Options>,
): Command {
  return spec;
}
