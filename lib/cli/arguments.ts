import type { Command, Given, OptionSpec } from "./command.ts";
import { everywhere } from "./common-options.ts";
import { UsageFault } from "./fault.ts";
import { nearest } from "./nearest.ts";

export interface Parsed {
  words: string[];
  given: Given<string>;
}

/** Reads the arguments behind a command's name. */
export function parseArguments(command: Pick<Command, "name" | "options">, args: readonly string[]): Parsed {
  const options: Readonly<Record<string, OptionSpec>> = { ...everywhere, ...command.options };
  const values = new Map<string, string[]>();
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") {
      words.push(...args.slice(at + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const { name, inline } = nameOf(arg, options);
    const spec = options[name];
    if (spec === undefined) throw unknown(arg, command, options);
    at += take({ name, spec, inline, next: args[at + 1] }, values);
  }
  return { words, given: given(values, options) };
}

/** `--name`, `--name=value`, `-n`. */
function nameOf(arg: string, options: Readonly<Record<string, OptionSpec>>) {
  const [, long, , inline] = /^--([^=]+)(=(.*))?$/s.exec(arg) ?? [];
  if (long !== undefined) return { name: long, inline };
  const letter = arg.slice(1, 2);
  const found = Object.entries(options).find(([, { short }]) => short === letter)?.[0];
  return { name: found ?? arg, inline: arg.length > 2 ? arg.slice(2).replace(/^=/, "") : undefined };
}

/** Returns how many further arguments the option consumed. */
function take(
  {
    name,
    spec,
    inline,
    next,
  }: { name: string; spec: OptionSpec; inline: string | undefined; next: string | undefined },
  values: Map<string, string[]>,
): number {
  const before = values.get(name);
  if (before !== undefined && spec.multiple !== true && spec.value !== undefined)
    throw new UsageFault(`--${name} can be given only once.`);
  if (spec.value === undefined) {
    if (inline !== undefined) throw new UsageFault(`--${name} is a switch and takes no value.`);
    values.set(name, [""]);
    return 0;
  }
  const value = inline ?? next;
  if (value === undefined || (inline === undefined && /^--./.test(value)))
    throw new UsageFault(`--${name} takes a value: --${name} <${spec.value}>.`);
  values.set(name, [...(before ?? []), value]);
  return inline === undefined ? 1 : 0;
}

function unknown(
  arg: string,
  command: Pick<Command, "name">,
  options: Readonly<Record<string, OptionSpec>>,
): UsageFault {
  const near = nearest(arg.replace(/^-+/, "").replace(/=.*$/s, ""), Object.keys(options));
  const hint = near === undefined ? "" : ` Did you mean --${near}?`;
  return new UsageFault(`${command.name} has no option ${arg.replace(/=.*$/s, "")}.${hint}`);
}

function given(
  values: ReadonlyMap<string, string[]>,
  options: Readonly<Record<string, OptionSpec>>,
): Given<string> {
  const text = (name: string) => values.get(name)?.at(-1);
  return {
    text,
    texts: (name) => values.get(name) ?? [],
    flag: (name) => values.has(name),
    number: (name, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) => {
      const written = text(name);
      if (written === undefined) return undefined;
      const number = /^\d{1,15}$/.test(written) ? Number(written) : Number.NaN;
      if (number >= min && number <= max) return number;
      const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
      throw new UsageFault(
        `--${name} takes a whole number ${range} (${options[name]?.value ?? "n"}), not ${JSON.stringify(written)}.`,
      );
    },
  };
}
