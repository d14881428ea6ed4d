import { shownSql } from "./sql-text.ts";
import { isStatement, type Statement } from "./statement.ts";
import { JsonText, textOf } from "./written.ts";

/**
 * A value that cannot be sent. The driver (postgres 3.4.9) finds out only after the statement
 * counts as sent: it then fails another statement for it, and gives each later answer on the
 * connection to the wrong caller. So Carillon refuses the statement before.
 */
export class UnwritableValue extends TypeError {
  override readonly name = "UnwritableValue";
}

/** The protocol counts parameters in two bytes, and the driver allows two fewer. */
const parametersMax = 65_533;

const allowed =
  "A statement takes text, numbers, bigint, booleans, null, valid dates, bytes, objects that have JSON, and arrays of these.";

/**
 * Why a statement cannot be sent; undefined if it can. Replaces objects in it by their JSON at this
 * moment.
 */
export function unwritable(statement: Statement): UnwritableValue | undefined {
  const { args } = statement;
  for (const value of args) if (!isSimple(value)) return refused(statement);
  return args.length > parametersMax ? refused(statement) : undefined;
}

function isSimple(value: unknown): boolean {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
    case "bigint":
      return true;
    default:
      return value === null || (value instanceof Date && !Number.isNaN(value.getTime()));
  }
}

function refused(statement: Statement): UnwritableValue | undefined {
  const parameters = new Parameters();
  try {
    parameters.take(statement);
  } catch (fault) {
    parameters.fault ??= `it could not be made (${textOf(fault)})`;
  }
  const { fault, count } = parameters;
  if (fault === undefined && count <= parametersMax) return undefined;
  const shown = shownSql(parameters.text);
  return new UnwritableValue(
    fault === undefined
      ? `Not sent: there are ${count} parameters in "${shown}", and at most ${parametersMax} can be sent. Send lists as arrays.`
      : `Not sent: ${fault}, in "${shown}". ${allowed}`,
  );
}

/** The parameters of a statement, in the order and with the numbers that the driver gives them. */
class Parameters {
  text = "";
  count = 0;
  /** The first fault, with its position in the statement. */
  fault: string | undefined;

  take(statement: Statement): void {
    const { strings, args } = statement;
    this.text += strings[0] ?? "";
    for (let place = 1; place < strings.length; place++) {
      this.#part(args, place - 1);
      this.text += strings[place] ?? "";
    }
    if (!("raw" in strings)) for (let place = 0; place < args.length; place++) this.#write(args, place);
  }

  #part(args: unknown[], place: number): void {
    const part = args[place];
    if (isStatement(part)) this.take(part);
    else if (isHelper(part)) this.#built(part);
    else if (isName(part)) this.text += `"${part.value}"`;
    else if (Array.isArray(part) && isStatement(part[0])) for (const each of part) this.take(each);
    else {
      this.#write(args, place);
      this.text += `$${this.count}`;
    }
  }

  /** The driver's helper makes the text here: it depends on the words before the helper. */
  #built(helper: Helper): void {
    const values: unknown[] = [];
    const text = String(helper.build(this.text, values, Array(this.count), helperOptions));
    for (const value of values) this.#note(faultOf(value));
    this.text += text;
  }

  #write(values: unknown[], place: number): void {
    const value = values[place];
    const fault = isTyped(value) ? this.#ofTyped(value) : faultOf(value);
    if (fault === null && isPlainObject(value)) values[place] = new JsonText(value);
    this.#note(fault);
  }

  #note(fault: string | null): void {
    this.count += 1;
    if (fault !== null) this.fault ??= `the value of $${this.count} is ${fault}`;
  }

  #ofTyped(typed: Typed): string | null {
    const { value, type } = typed;
    if (value === undefined || value instanceof JsonText) return faultOf(value);
    if (type !== jsonOid && type !== jsonbOid) return faultOf(value);
    const fault = jsonFault(value);
    if (fault === null && typeof value === "object" && value !== null) typed.value = new JsonText(value);
    return fault;
  }
}

const jsonOid = 114;
const jsonbOid = 3802;
/**
 * Stands for undefined values of a helper during the check, so that the check finds their position.
 */
const missing = Symbol("undefined");
const helperOptions = { transform: { column: {}, undefined: missing } };

/** The fault of a value, as the end of a sentence; null if it can be sent. */
function faultOf(value: unknown): string | null {
  if (isSimple(value) || value instanceof Uint8Array || value instanceof JsonText) return null;
  if (value === undefined || value === missing) return "undefined";
  if (typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
  if (value instanceof Date) return "an invalid date";
  if (value instanceof Promise) return "a promise that was not awaited";
  return Array.isArray(value) ? elementFault(value) : jsonFault(value);
}

/** Undefined elements are sent as null, as in JSON. */
function elementFault(values: readonly unknown[], depth = 0): string | null {
  if (depth > depthMax) return "an array that is nested too deeply, or holds itself";
  for (let place = 0; place < values.length; place++) {
    const value = values[place];
    if (isSimple(value) || value === undefined) continue;
    const fault = Array.isArray(value) ? elementFault(value, depth + 1) : faultOf(value);
    if (fault !== null) return depth > 0 ? fault : `an array with ${fault} at [${place}]`;
  }
  return null;
}

/** Postgres has arrays of up to six dimensions; arrays in JSON may be deeper. */
const depthMax = 100;

function jsonFault(value: unknown): string | null {
  try {
    return JSON.stringify(value) === undefined ? "a value that has no JSON" : null;
  } catch (error) {
    return `a value that has no JSON (${textOf(error).split("\n")[0]})`;
  }
}

interface Typed {
  value: unknown;
  type: unknown;
}

interface Helper {
  build(before: string, values: unknown[], types: unknown[], options: unknown): unknown;
}

function isHelper(value: unknown): value is Helper {
  return isOfDriver(value) && "build" in value && typeof value.build === "function";
}

function isTyped(value: unknown): value is Typed {
  return isOfDriver(value) && "value" in value && "type" in value;
}

function isName(value: unknown): value is { value: string } {
  return isOfDriver(value) && "value" in value && !("type" in value);
}

/**
 * The driver's own objects are thenables that fail when they are awaited. Their classes are not
 * exported.
 */
function isOfDriver(value: unknown): value is object {
  return typeof value === "object" && value !== null && "then" in value && !(value instanceof Promise);
}

function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  if (value instanceof Date || value instanceof Uint8Array || value instanceof JsonText) return false;
  return !isOfDriver(value);
}
