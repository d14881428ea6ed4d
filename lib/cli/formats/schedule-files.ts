import { type Document, LineCounter, parseAllDocuments } from "yaml";
import { refuseInexactNumbers } from "../../command/exact-numbers.ts";
import { Refusal } from "../../refusal.ts";
import { isJson, jsonFaults } from "../../schedule/shape/json.ts";
import { type Found, isObject, type Reading } from "./found.ts";
import type { Source, SourceFile } from "./source-files.ts";

export function isScheduleFile(name: string): boolean {
  return /\.(ya?ml|json)$/i.test(name);
}

/**
 * Schedules in the fields of the API. A file holds one schedule, several documents, a list, or an
 * object from keys to schedules. A schedule that is alone in its file may omit its key, which is
 * then the file's path.
 */
export function readScheduleFiles({ files }: Pick<Source, "files">): Reading {
  return { found: files.flatMap(schedulesIn), notes: [] };
}

function schedulesIn(file: SourceFile): Found[] {
  try {
    const documents = /\.json$/i.test(file.name) ? [jsonIn(file.text)] : yamlIn(file.text);
    const bodies = documents
      .filter((document) => document !== null && document !== undefined)
      .flatMap(bodiesIn);
    const [alone] = bodies;
    return bodies.map(({ key, body, place }) => {
      const isAlone = bodies.length === 1 && alone?.place === "" && !file.isStdin;
      return foundBody(place === "" ? file.name : `${file.name} ${place}`, body, {
        key,
        keyOfFile: isAlone ? keyOf(file.name) : null,
      });
    });
  } catch (error) {
    if (!(error instanceof NotUnderstood) && !(error instanceof Refusal)) throw error;
    return [{ from: file.name, key: null, body: {}, differences: [], faults: [error.message] }];
  }
}

class NotUnderstood extends Error {
  override readonly name = "NotUnderstood";
}

interface Body {
  key: string | null;
  body: unknown;
  /** Where the schedule is within its file; empty if it is alone there. */
  place: string;
}

function bodiesIn(document: unknown, index: number, all: readonly unknown[]): Body[] {
  const place = all.length === 1 ? "" : `document ${index + 1}`;
  if (Array.isArray(document))
    return document.map((body, at) => ({ key: null, body, place: `${place} [${at}]`.trim() }));
  // An object with `when` or `target` is a schedule, not an object from keys to schedules.
  if (!isObject(document) || "when" in document || "target" in document)
    return [{ key: null, body: document, place }];
  return Object.entries(document).map(([key, body]) => ({ key, body, place: `${place} ${key}`.trim() }));
}

function foundBody(
  from: string,
  body: unknown,
  { key, keyOfFile }: { key: string | null; keyOfFile: string | null },
): Found {
  const nothing = { from, key, body: {}, differences: [] };
  if (!isObject(body))
    return { ...nothing, faults: ["takes a schedule: an object with `when` and `target`"] };
  const { key: own, ...rest } = body;
  if (!isJson(rest))
    return {
      ...nothing,
      faults: jsonFaults(rest).map(({ path, message }) => `${path.join(".")} ${message}`),
    };
  if (own !== undefined && typeof own !== "string") return { ...nothing, faults: ["key takes a text"] };
  if (own !== undefined && key !== null && own !== key)
    return {
      ...nothing,
      faults: [`its own key ${JSON.stringify(own)} differs from its name ${JSON.stringify(key)} in the file`],
    };
  const named = own ?? key ?? keyOfFile;
  if (named === null) return { ...nothing, faults: ["key is required, because it is not alone in its file"] };
  return { from, key: named, body: isObject(rest) ? rest : {}, differences: [], faults: [] };
}

/** `orders/daily.yaml` becomes `orders:daily`, because keys take no `/`. */
function keyOf(name: string): string {
  return name.replace(/\.[^.]+$/, "").replaceAll("/", ":");
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
      throw new NotUnderstood(`is not YAML: ${yamlFault(fault.code)} (line ${line}, column ${col})`);
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
