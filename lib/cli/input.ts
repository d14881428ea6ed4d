import type { Json } from "../client/main.ts";
import type { Call } from "./command.ts";
import { UsageFault } from "./fault.ts";

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
 * Reads an instant, or a time relative to now: `2026-12-01T09:00:00Z`, `now`, `in 3h`, `2d ago`.
 */
export function instantFrom(call: Call, text: string | undefined, option: string): string | undefined {
  if (text === undefined) return undefined;
  const trimmed = text.trim();
  if (trimmed === "now") return new Date(call.now()).toISOString();
  const [, ahead, back] = /^in\s+(\S.*)$|^(\S.*?)\s+ago$/.exec(trimmed) ?? [];
  const ms = durationMs(ahead ?? back ?? "");
  if (ms !== undefined) return new Date(call.now() + (back === undefined ? ms : -ms)).toISOString();
  // Without an offset the text would mean another instant on another machine.
  const [, day, offset] = /^(\d{4}-\d\d-\d\d)(T[\d:.]+(?:Z|[+-]\d\d:\d\d))?$/i.exec(trimmed) ?? [];
  if (day !== undefined && !Number.isNaN(Date.parse(trimmed)))
    return offset === undefined ? `${day}T00:00:00.000Z` : trimmed;
  throw new UsageFault(
    `${option} takes an instant such as 2026-12-01T09:00:00Z, a day (in UTC), \`now\`, \`in 3h\` or \`2d ago\`; not ${JSON.stringify(text)}.`,
  );
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Undefined for a text that is no duration. */
export function durationMs(text: string): number | undefined {
  if (!/^(\d{1,9}\s*(ms|s|m|h|d|w)\s*)+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit = ""] of text.matchAll(/(\d+)\s*(ms|s|m|h|d|w)/g))
    ms += Number(count) * (unitMs[unit] ?? 0);
  return ms;
}
