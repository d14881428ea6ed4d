/**
 * A statement as the driver's tagged template makes it: a promise that hands itself to `handler`
 * when it is first awaited. By setting the handler, Carillon chooses the connection late and
 * without the driver's pool. This is not a documented part of the driver. Its version is pinned,
 * and `handlerOf` refuses a version that looks different.
 */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void;
  /** The driver's function behind `cancel`. */
  canceller: ((statement: Statement) => void) | null;
  /** The text between the values. The strings of a tagged template have `raw`. */
  strings: readonly string[];
  args: unknown[];
  /** The options that it was made with; the connection decides those left out. */
  options: { prepare?: boolean; simple?: boolean };
  resolve: (rows: unknown) => void;
  reject: (reason: unknown) => void;
}

export function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && typeof Reflect.get(made, "handler") === "function";
}

export function handlerOf(made: unknown): Statement["handler"] {
  const isKnown =
    isStatement(made) &&
    ["resolve", "reject"].every((name) => typeof Reflect.get(made, name) === "function") &&
    ["strings", "args"].every((name) => Array.isArray(Reflect.get(made, name))) &&
    typeof Reflect.get(made, "options") === "object";
  if (!isKnown) {
    throw new Error("This version of the postgres package makes statements that Carillon does not know.");
  }
  return made.handler;
}

/**
 * Whether the text is the same for all values: the statement has no fragments, names or lists of
 * columns.
 */
export function isFixed(statement: Statement): boolean {
  return statement.args.every(isValue);
}

/** Whether the rows go to a callback of the caller, which may have failed. */
export function failedInCallback(statement: Statement): boolean {
  return Reflect.has(statement, "forEachFn") || Reflect.has(statement, "cursorFn");
}

/**
 * For a statement that is made of parts, but always of the same few: its plan is kept like that of
 * a fixed statement.
 */
export function keptPlan<Made extends PromiseLike<unknown>>(made: Made): Made {
  if (isStatement(made)) made.options.prepare = true;
  return made;
}

/** Whether the driver sends it as a parameter: plain, or with its type. */
function isValue(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function";
  return value instanceof Date || value instanceof Uint8Array || ("type" in value && "value" in value);
}

/** The same text for equal statements: their strings, fragments and values. */
export function spelled(statement: Statement): string {
  return JSON.stringify(partsOf(statement), (_name, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function partsOf(part: unknown): unknown {
  if (isStatement(part)) return [part.strings, partsOf(part.args)];
  return Array.isArray(part) ? part.map(partsOf) : part;
}
