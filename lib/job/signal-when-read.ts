import type { HandlerContext } from "./handler-context.ts";

type Signalling = Pick<HandlerContext, "signal">;

/** A symbol: it is not among the visible members, and objects derived from the context keep it. */
const source = Symbol("source");

/**
 * Shared by all contexts: with accessors of its own each context would have another hidden class,
 * and be slow to make.
 */
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
 * The members of a handler's context, with the signal of its run. The signal is made when it is
 * first read: hardly any handler reads it, and making it costs as much as all other parts of a
 * short run.
 */
export function withSignal<Members extends object>(run: Signalling, members: Members): Signalling & Members {
  return Object.assign(new SignalWhenRead(run), members);
}
