import { apiUrl } from "../query-client.ts";
import { curlText, quoted } from "../text/shell-text.ts";

interface ListCommand {
  /** The command of the CLI, such as `ls`. */
  command: string;
  /** Its words that are no options. */
  words?: readonly string[];
  /** The path of the list in the API. */
  path: string;
  filter: object;
  /** Fields of the filter that the CLI takes as words. */
  asWords?: readonly string[];
}

/** The same list as a command of the CLI, and as a request. */
export function listCommands({ command, words = [], path, filter, asWords = [] }: ListCommand): {
  carillon: string;
  curl: string;
} {
  const fields = Object.entries(filter).filter(([, value]) => value !== undefined);
  const options = fields
    .filter(([name, value]) => value !== false && !asWords.includes(name))
    .flatMap(([name, value]) =>
      value === true ? [optionOf(name)] : [optionOf(name), quoted(textOf(value))],
    );
  const query = new URLSearchParams(fields.map(([name, value]) => [name, textOf(value)])).toString();
  return {
    carillon: ["carillon", command, ...words.map(quoted), ...options, "--all"].join(" "),
    curl: curlText({ method: "GET", url: `${apiUrl()}${path}${query === "" ? "" : `?${query}`}` }),
  };
}

const optionOf = (name: string) => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const textOf = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
