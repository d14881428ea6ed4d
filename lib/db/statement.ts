/**
 * What the driver's tagged template makes: a promise that hands itself to `handler` when it is first awaited. Setting the handler decides
 * late, and without the driver's pool, which connection runs it. Not a documented part of the driver; its version is pinned, and
 * a version that looks different is refused here.
 */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void;
  /** The driver's function behind `cancel`. */
  canceller: ((statement: Statement) => void) | null;
  /** The pieces of text between the values. Those of a tagged template have `raw`. */
  strings: readonly string[];
  args: unknown[];
  /** What it was sent with; left out, the connection's own choice counts. */
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

/** Whether its text is the same whatever its values are: made of no fragments, names or lists of columns. */
export function isFixed(statement: Statement): boolean {
  return statement.args.every(isValue);
}

/** Whether its rows go to code of its caller, which may be what failed. */
export function failedInCallback(statement: Statement): boolean {
  return Reflect.has(statement, "forEachFn") || Reflect.has(statement, "cursorFn");
}

/** Of a statement that is made of parts, but always of the same few: its plan is kept as that of any other. */
export function keptPlan<Made extends PromiseLike<unknown>>(made: Made): Made {
  if (isStatement(made)) made.options.prepare = true;
  return made;
}

/** What is sent beside the text: as it is, or with its type. */
function isValue(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value !== "function";
  return value instanceof Date || value instanceof Uint8Array || ("type" in value && "value" in value);
}

/** The same text for statements that ask the same: what was written, with its fragments and values. */
export function spelled(statement: Statement): string {
  return JSON.stringify(partsOf(statement), (_name, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function partsOf(part: unknown): unknown {
  if (isStatement(part)) return [part.strings, partsOf(part.args)];
  return Array.isArray(part) ? part.map(partsOf) : part;
}
