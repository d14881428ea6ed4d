import type { Sql } from "../../db/connect.ts";
import { isStatement, type Statement } from "../../db/statement.ts";
import type { LeftOpen } from "./left-open.ts";

/** The receiver of the statements of `ctx.sql`. */
export interface Route {
  route(statement: Statement): void;
  cancel(statement: Statement): void;
  readonly leftOpen: LeftOpen;
}

/**
 * The members of the pool that a handler gets. The others reach beyond the transaction of one
 * attempt, or end connections that others use.
 */
const given: ReadonlySet<string> = new Set(["array", "json", "typed", "types", "unsafe"]);

/** Makes statements as the pool does, and sends each of them over another route. */
export class Rerouted implements ProxyHandler<Sql> {
  readonly #route: Route;

  constructor(route: Route) {
    this.#route = route;
  }

  apply(pool: Sql, _self: unknown, details: unknown[]): unknown {
    return this.#reroute(Reflect.apply(pool, undefined, details));
  }

  get(pool: Sql, property: string | symbol): unknown {
    if (typeof property === "string" && !given.has(property)) return undefined;
    const member: unknown = Reflect.get(pool, property);
    if (property !== "unsafe" || typeof member !== "function") return member;
    return (...details: unknown[]) => this.#reroute(Reflect.apply(member, pool, details));
  }

  /** Every handler uses this pool, so none may change it. */
  set(): boolean {
    return false;
  }

  defineProperty(): boolean {
    return false;
  }

  deleteProperty(): boolean {
    return false;
  }

  #reroute(made: unknown): unknown {
    if (isStatement(made)) {
      made.handler = (statement) => this.#route.route(statement);
      made.canceller = (statement) => this.#route.cancel(statement);
      this.#route.leftOpen.made(made);
    }
    return made;
  }
}
