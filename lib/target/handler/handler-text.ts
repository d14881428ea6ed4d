import { hiddenSql } from "../../db/sql-text.ts";
import { isFixed, isStatement, type Statement } from "../../db/statement.ts";
import { isStreaming } from "./left-open.ts";

/** The result of checking a statement's text before it is sent. */
export interface StatementText {
  /** Why it is not sent; null if it is. */
  refusal: string | null;
  /** Whether the statement may have effects on the connection after its transaction. */
  mayOutlast: boolean;
}

const known = new WeakMap<readonly string[], StatementText>();

/** Checks a statement. A template without parts always has the same text, so it is read once. */
export function readStatement(statement: Statement): StatementText {
  const { strings } = statement;
  if (isStreaming(statement)) return readCopy(textOf(statement));
  if (!("raw" in strings) || !isFixed(statement)) return readText(textOf(statement));
  const found = known.get(strings) ?? readText(textOf(statement));
  known.set(strings, found);
  return found;
}

function textOf({ strings, args }: Statement): string {
  return strings
    .map((piece, place) => piece + (place < strings.length - 1 ? partOf(args[place]) : ""))
    .join("");
}

/**
 * The text of a part, with `?` for a value. The driver quotes names and lists of columns, so they
 * cannot be keywords.
 */
function partOf(part: unknown): string {
  if (isStatement(part)) return textOf(part);
  if (Array.isArray(part) && isStatement(part[0])) return part.filter(isStatement).map(textOf).join(" ");
  return typeof part === "object" && part !== null ? '"?"' : "?";
}

function readText(text: string): StatementText {
  const words = leadingWords(text);
  const refusal = refusals.find(({ pattern }) => pattern.test(words))?.why ?? null;
  return { refusal, mayOutlast: !plain.test(words) || doesMore(text) };
}

/** A copy uses the simple protocol, which takes several statements at once. */
function readCopy(text: string): StatementText {
  const isOne = leadingWords(text).startsWith("copy") && !/;\s*\S/.test(text);
  return { refusal: isOne ? null : "A stream of ctx.sql takes one `copy` statement.", mayOutlast: false };
}

const refusals = [
  {
    // Carillon ends the transaction. If the handler ended it early, the job would be settled apart
    // from the handler's writes.
    pattern:
      /^(?:begin|start transaction|commit|end|abort|rollback(?!(?: work| transaction)? to\b)|prepare transaction)\b/,
    why: "ctx.sql is one transaction, which commits when the handler returns and rolls back when it throws.",
  },
  {
    // The setting would apply to the next job on this connection, and to the settle of that job.
    pattern:
      /^(?:set\b(?! (?:local|transaction|constraints)\b)|(?:reset|discard|listen|unlisten|prepare|deallocate)\b)/,
    why: "ctx.sql has its connection for one transaction: use `set local`, which ends with it.",
  },
];

const plain =
  /^(?:select|insert|update|delete|merge|with|values|table|copy|lock|savepoint|release|rollback|set)\b/;

/** A blank, a comment to the end of the line, a semicolon before the statement, or a word. */
const token = /\s+|--[^\n\r]*|;|\/\*|([a-z_]+)/iy;
const wordsMax = 4;

/** The first words, without blanks and comments; any other token ends them. */
function leadingWords(text: string): string {
  const words: string[] = [];
  let place = 0;
  while (words.length < wordsMax && place < text.length) {
    token.lastIndex = place;
    const found = token.exec(text);
    if (found === null) break;
    if (found[0] === ";" && words.length > 0) break;
    if (found[1] !== undefined) words.push(found[1].toLowerCase());
    place = found[0] === "/*" ? endOfComment(text, place) : token.lastIndex;
  }
  return words.join(" ");
}

/** Postgres allows nested comments. */
function endOfComment(text: string, start: number): number {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = start;
  let depth = 0;
  for (let found = edge.exec(text); found !== null; found = edge.exec(text)) {
    depth += found[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return text.length;
}

/**
 * Calls without lasting effects, and keywords that a parenthesis may follow. Any other call may
 * set, lock or create something that lasts.
 */
const harmless: ReadonlySet<string> = new Set(
  ` abs all and any array array_agg as avg between bool_and bool_or by cardinality case cast ceil coalesce concat conflict count
    current_date current_timestamp date_part date_trunc distinct else exists extract filter floor from gen_random_uuid greatest
    group in insert interval into is join json_agg json_build_object jsonb_agg jsonb_build_array jsonb_build_object jsonb_set key
    lateral least length like limit lower make_interval max min not now nullif on or over partition pg_notify position power
    random rank replace returning round row row_number select set string_agg substring sum then to_char to_jsonb to_timestamp trim
    union unnest upper using values when where with`
    .trim()
    .split(/\s+/),
);

/** Names before a parenthesis that are no calls: of a table, an alias or a `with` query. */
const named = /\b(?:into\s+[\w."]+|as\s+\w+|with\s+(?:recursive\s+)?\w+)\s*\(/gi;
const call = /([^\s(),;+\-*/<>=~!@#%^&|?:[\]]*)\s*\(/g;
/**
 * Text that cannot be reliably split into strings and code: escapes, nested comments, other line
 * endings.
 */
const unsure = /\\|\/\*[\s\S]*\/\*|\r(?!\n)/;

function doesMore(text: string): boolean {
  if (unsure.test(text)) return true;
  const shown = text
    .replace(hiddenSql, (part) => (part.startsWith('"') ? "quoted_" : " "))
    .replace(named, "(");
  if (/\b(?:pg_)?temp(?:orary)?\b/i.test(shown)) return true;
  for (const [, name = ""] of shown.matchAll(call))
    if (name !== "" && !harmless.has(name.toLowerCase())) return true;
  return false;
}
