import type { Json } from "../client/main.ts";
import type { Call } from "./command.ts";
import { UsageFault } from "./fault.ts";
import { readInstant } from "./instants.ts";

/** Reads JSON from the text itself, from `@file`, or from stdin for `-`. */
export async function jsonFrom(call: Call, text: string, option: string): Promise<Json> {
  const file = text === "-" ? "-" : text.startsWith("@") ? text.slice(1) : undefined;
  const written = file === undefined ? text : await call.read(file);
  try {
    return JSON.parse(written);
  } catch {
    const where = file === undefined ? "" : ` (${file === "-" ? "stdin" : file})`;
    throw new UsageFault(
      `${option} takes JSON${where}: an object '{"n":1}', a number, or a text in its own quotes '"hello"'.`,
    );
  }
}

/** The argument of a command, or the option that means the same. */
export function argumentOr<Name extends string>(
  { words: [word], given }: Pick<Call<Name>, "words" | "given">,
  option: Name,
): string | undefined {
  const value = given.text(option);
  if (word === undefined || value === undefined) return word ?? value;
  throw new UsageFault(
    `${JSON.stringify(word)} and --${option} ${JSON.stringify(value)} are both a ${option}: give one of them.`,
  );
}

export async function objectFrom(
  call: Call,
  file: string,
  option: string,
): Promise<{ [name: string]: Json }> {
  const text = await call.read(file);
  const named = file === "-" ? "stdin" : file;
  const json = parsed(text, `${option} takes a JSON object; ${named}`);
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return json;
  throw new UsageFault(`${option} takes a JSON object; ${named} holds another value.`);
}

function parsed(text: string, subject: string): Json {
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the text, which may hold a secret; its position is enough.
    const [, at] = /position (\d+)/.exec(error instanceof Error ? error.message : "") ?? [];
    const line = at === undefined ? "" : ` (line ${text.slice(0, Number(at)).split("\n").length})`;
    throw new UsageFault(`${subject} is not JSON${line}.`);
  }
}

/**
 * The instant that an option names, as `readInstant` reads it. A time without an offset is in
 * `zone`, which is the zone of shown times unless given: what a command prints is read back as it
 * was meant.
 */
export function instantFrom(
  call: Pick<Call, "out" | "now">,
  text: string | undefined,
  option: string,
  zone = call.out.times.zone,
): string | undefined {
  if (text === undefined) return undefined;
  return new Date(readInstant({ text, option, zone, now: call.now() })).toISOString();
}
