import type { CallToolResult } from "@modelcontextprotocol/server";
import { CarillonProblem, CarillonUnreachable, isPreconditionFailed } from "../client/main.ts";
import { beginOf, fitted } from "./fitted.ts";

/** The result of a tool: short lines to read, and the same as data. */
export interface Told {
  lines: readonly string[];
  data: object;
}

const linesMax = 80;
const lineMax = 400;

export function answerOf({ lines, data }: Told): CallToolResult {
  const { value, leftOut } = fitted(data);
  const noted = leftOut.length === 0 ? [] : [`Left out of the data to keep it short: ${leftOut.join("; ")}.`];
  const { cursor } = value;
  // Added whole: a cursor that is cut would be refused.
  const more =
    typeof cursor === "string"
      ? `\nThere is more: call again with the same arguments and cursor ${JSON.stringify(cursor)}.`
      : "";
  return {
    content: [{ type: "text", text: textOf([...lines, ...noted]) + more }],
    structuredContent: leftOut.length === 0 ? value : { ...value, leftOut },
  };
}

/** A failed call is a result for the agent, which can correct it; the session goes on. */
export function failureOf(error: unknown): CallToolResult {
  const { lines, data } = toldError(error);
  return {
    content: [{ type: "text", text: textOf(lines) }],
    structuredContent: fitted({ error: data }).value,
    isError: true,
  };
}

function toldError(error: unknown): Told {
  if (error instanceof CarillonProblem) return toldProblem(error);
  const sentence = error instanceof Error ? error.message : String(error);
  const isLost = error instanceof CarillonUnreachable && error.idempotencyKey !== undefined;
  const lines = isLost ? [sentence, lostWrite] : [sentence];
  return { lines, data: { detail: sentence, ...(isLost ? { done: "unknown" } : {}) } };
}

export const lostWrite =
  "Whether the change was made is not known. Call again with the same arguments and the same confirm: it is made at most once.";

function toldProblem(error: CarillonProblem): Told {
  const { status, type, title, detail, errors, movedTo, requestId } = error;
  const lines = [
    status === 0 ? detail : `${detail} (${status})`,
    ...errors.map(({ path, message }) => `${path} ${message}`.trim()),
    ...(isPassing(error) ? ["This may pass: try the same call again later."] : []),
    ...(isPreconditionFailed(error)
      ? ["It was changed after the preview, so nothing was done: call again without confirm."]
      : []),
    ...(requestId === undefined ? [] : [`Request ${requestId}: the server's log has it under this id.`]),
  ];
  return {
    lines,
    data: {
      ...{ status, type, title, detail, errors },
      ...(movedTo === undefined ? {} : { movedTo }),
      ...(requestId === undefined ? {} : { requestId }),
    },
  };
}

/** The server keeps no such answer under the Idempotency-Key, so the repeat of a change is safe. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof CarillonProblem)) return false;
  const { status, retryAfterMs } = error;
  return status === 429 || status >= 500 || (status === 409 && retryAfterMs !== undefined);
}

function textOf(lines: readonly string[]): string {
  const shown = lines.slice(0, linesMax).map((line) => cutLine(line));
  const more = lines.length - shown.length;
  return [...shown, ...(more > 0 ? [`… and ${more} more lines; the data has them.`] : [])].join("\n");
}

/** Control characters of foreign texts would begin a line of their own, or reorder it. */
function cutLine(line: string): string {
  const plain = line
    .replace(/[\p{Zl}\p{Zp}\n\r\t]+/gu, " ")
    .replace(/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, "\ufffd");
  return plain.length <= lineMax ? plain : `${beginOf(plain, lineMax)}…`;
}

/** A text that a caller or a target has written, in quotes: an agent must not take it for ours. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= 200 ? text : `${beginOf(text, 200)}…`);
}

/**
 * A name that a caller has chosen, whole: in quotes if it could pass for the text around it. Keys,
 * groups and tags may contain blanks.
 */
export function nameText(name: string): string {
  return /[\s\p{Z}\p{C}",]/u.test(name) ? JSON.stringify(name) : name;
}

/** `1 job`, `2 jobs`; with `more`, `2 or more jobs`. */
export function counted(count: number, noun: string, more = false): string {
  return `${count}${more ? " or more" : ""} ${noun}${count === 1 && !more ? "" : "s"}`;
}

/** A value in a line. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= 200 ? text : `${beginOf(text, 200)}…`;
}

/** One page of a list, a line for each item. */
export function toldPage<Item>(
  page: { items: readonly Item[]; cursor?: string },
  lineOf: (item: Item) => string,
  none: string,
): Told {
  const { items, cursor } = page;
  // A page of a search may be empty although later ones are not.
  const empty = cursor === undefined ? none : "Nothing on this page.";
  return { lines: items.length === 0 ? [empty] : items.map(lineOf), data: page };
}
