/**
 * What the driver's tagged template makes: a promise that hands itself to `handler` when it is first awaited. Setting the handler decides
 * late, and without the driver's pool, which connection runs it. Not a documented part of the driver; its version is pinned, and
 * a version that looks different is refused here.
 */
export interface Statement extends Promise<unknown> {
  handler: (statement: Statement) => void;
  reject: (reason: unknown) => void;
}

export function isStatement(made: unknown): made is Statement {
  return made instanceof Promise && typeof Reflect.get(made, "handler") === "function";
}

export function handlerOf(made: unknown): Statement["handler"] {
  if (!isStatement(made) || typeof Reflect.get(made, "reject") !== "function") {
    throw new Error("This version of the postgres package makes statements that Carillon does not know.");
  }
  return made.handler;
}
