import type { HandlerContext } from "./handler-context.ts";

type Signalling = Pick<HandlerContext, "signal">;

/** By a symbol, which neither shows among the members nor is lost by whoever derives an object from the context. */
const source = Symbol("source");

/** One for all contexts: with accessors of its own each would be an object of another shape, and slow to make. */
const whenRead: PropertyDescriptor & ThisType<SignalWhenRead> = {
  enumerable: true,
  configurable: true,
  get() {
    return this[source].signal;
  },
  set(signal: AbortSignal) {
    Object.defineProperty(this, "signal", {
      value: signal,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  },
};

class SignalWhenRead implements Signalling {
  declare signal: AbortSignal;
  readonly [source]: Signalling;

  constructor(run: Signalling) {
    this[source] = run;
    Object.defineProperty(this, "signal", whenRead);
  }
}

/**
 * The members of a handler's context, and among them the signal of its run. It is made when it is read: nearly no handler does that,
 * and one costs as much as all else of a short run.
 */
export function withSignal<Members extends object>(run: Signalling, members: Members): Signalling & Members {
  return Object.assign(new SignalWhenRead(run), members);
}
