/**
 * An error as text that a log may contain. The database and the JSON parser quote values in their
 * messages, which may be a payload or a secret: the quoted parts are left out. Other parts with
 * values (details, parameters, causes) are not included.
 */
export function errorText(error: unknown): string {
  return textWithin(error, { errors: readMax });
}

/** How many errors of a tree are still to be read. */
interface Left {
  errors: number;
}

function textWithin(error: unknown, left: Left): string {
  try {
    return readText(error, left);
  } catch {
    // A proxy, or an error with unusual members.
    return "an error that cannot be read";
  }
}

const plainName = /^[\w.$-]{1,100}$/;

/** The class of a thrown value, if it is a plain name. */
export function errorClass(error: unknown): string {
  try {
    return error instanceof Error ? plainClass(error.name) : `something of type ${typeof error}`;
  } catch {
    return plainClass(null);
  }
}

export function plainClass(name: unknown): string {
  return typeof name === "string" && plainName.test(name) ? name : "Error";
}

function readText(error: unknown, left: Left): string {
  if (!(error instanceof Error)) return `a ${typeof error} was thrown`;
  if (error instanceof AggregateError) return oneLine(`${error.name}: ${textsOf(error, left).join("; ")}`);
  return oneLine(`${error.name}: ${messageOf(error)}`);
}

/**
 * An error may contain itself, and aggregates of aggregates may be endless: all errors of a tree
 * share one count.
 */
function textsOf({ errors }: AggregateError, left: Left): string[] {
  const texts: string[] = [];
  for (const each of errors.slice(0, aggregatedMax)) {
    if (left.errors === 0) break;
    left.errors -= 1;
    texts.push(textWithin(each, left));
  }
  return texts;
}

/** An error that may leave a function: Lambda's runtime logs it with all of its members. */
export function loggableError(error: unknown): Error {
  const loggable = new Error(errorText(error));
  loggable.name = error instanceof Error ? error.name : "Error";
  const frames = framesOf(error);
  loggable.stack = frames === "" ? loggable.message : `${loggable.message}\n${frames}`;
  return loggable;
}

/** The frames of the stack, without the message at its beginning. */
export function framesOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const lines = (error.stack ?? "").split("\n");
  return lines.filter((line) => /^\s+at /.test(line)).join("\n");
}

const aggregatedMax = 5;
const readMax = 20;
const lengthMax = 1_000;
/**
 * Control characters are searched in the beginning of a text only, so that a long text costs no
 * more.
 */
const searchedMax = 10_000;

function oneLine(text: string): string {
  return text
    .slice(0, searchedMax)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .slice(0, lengthMax)
    .toWellFormed();
}

function messageOf(error: Error): string {
  if (error.name === "PostgresError") return databaseMessage(error);
  if (error instanceof SyntaxError || error.name === "ZodError") return "the text is not understood";
  return error.message;
}

/**
 * Classes of SQLSTATE whose messages quote names of the schema and no values: broken constraints,
 * and faults of a statement.
 */
const namesAlone = /^(23|42)/;

/** Errors raised by functions; their text may contain anything. */
const raised = /^P0/;

/** A value may contain quotation marks: the text from the first to the last mark is left out. */
function databaseMessage(error: Error): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (namesAlone.test(code)) return `${code} ${error.message}`;
  if (raised.test(code)) return `${code} raised by a function or a trigger`;
  return `${code} ${error.message.replace(/".*("|$)/s, '"…"')}`;
}
