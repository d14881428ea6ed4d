import { type Document, LineCounter, parseAllDocuments } from "yaml";
import { refuseInexactNumbers } from "../../command/exact-numbers.ts";
import { Refusal } from "../../refusal.ts";
import { isObject } from "./found.ts";
import type { SourceFile } from "./source-files.ts";

/** The documents of a file: one of JSON, or those of YAML. */
export function documentsIn({ name, text }: Pick<SourceFile, "name" | "text">): unknown[] {
  return /\.json$/i.test(name) ? [jsonIn(text)] : yamlIn(text);
}

/** The words for a file whose documents could not be read; any other error is thrown on. */
export function faultOfDocuments(error: unknown): string {
  if (error instanceof NotUnderstood || error instanceof Refusal) return error.message;
  throw error;
}

class NotUnderstood extends Error {
  override readonly name = "NotUnderstood";
}

function jsonIn(text: string): unknown {
  refuseInexactNumbers(text);
  try {
    return JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the text, which may hold a secret; its position is enough.
    const [, at] = /position (\d+)/.exec(error instanceof Error ? error.message : "") ?? [];
    const line = at === undefined ? "" : ` (line ${text.slice(0, Number(at)).split("\n").length})`;
    throw new NotUnderstood(`is not JSON${line}`);
  }
}

function yamlIn(text: string): unknown[] {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, {
    lineCounter,
    prettyErrors: false,
    logLevel: "error",
    intAsBigInt: true,
    merge: true,
  });
  return documents.map((document) => {
    const [fault] = document.errors;
    if (fault !== undefined) {
      const { line, col } = lineCounter.linePos(fault.pos[0]);
      const why = /\{\{|<%/.test(text) ? "it is a template: import what it renders" : yamlFault(fault.code);
      throw new NotUnderstood(`is not YAML: ${why} (line ${line}, column ${col})`);
    }
    return withNumbers(valueIn(document));
  });
}

function valueIn(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    // The parser's message may quote the text.
    throw new NotUnderstood(
      error instanceof ReferenceError
        ? `is not YAML: an alias (\`*…\`) has no anchor, or expands to too much; ${inQuotes}`
        : "is not YAML: a merge (`<<`) takes an object or a list of objects",
    );
  }
}

const inQuotes = "put a cron expression that begins with `*` in quotes";

function yamlFault(code: string): string {
  if (/ALIAS|UNEXPECTED_TOKEN|MULTIPLE|MISSING_CHAR/.test(code)) return `the syntax is wrong; ${inQuotes}`;
  return code.toLowerCase().replaceAll("_", " ");
}

const nestingMax = 100;

/**
 * Whole numbers are read exactly; a number that JavaScript cannot hold is refused rather than
 * changed.
 */
function withNumbers(value: unknown, depth = 0): unknown {
  // An alias may refer to an object that contains it.
  if (depth > nestingMax) throw new NotUnderstood("is nested too deep");
  if (typeof value === "bigint") {
    if (BigInt(Number(value)) === value) return Number(value);
    throw new NotUnderstood(`The number ${value} cannot be kept exactly; write it as a text.`);
  }
  if (Array.isArray(value)) return value.map((member) => withNumbers(member, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withNumbers(member, depth + 1)]),
  );
}
